/**
 * The state of everything, kept current through one WebSocket. It draws nothing; whoever shows it listens to `changed`.
 */
import { TranslationBundle } from '@jupyterlab/translation';
import { IDisposable } from '@lumino/disposable';
import { ISignal, Signal } from '@lumino/signaling';
import { GlassloomAPI } from '../request';
import { Connection, IState, IStateStream } from '../tokens';
import { EMPTY, IPosition, Message, read, VERSION } from './state';
import { Stream } from './stream';

export class StateStream implements IStateStream, IDisposable {
  constructor(
    api: GlassloomAPI,
    private readonly _trans: TranslationBundle
  ) {
    this._stream = new Stream(() => api.openMetrics());
    this._stream.message.connect(this._onMessage, this);
    this._stream.connected.connect(this._onConnected, this);
  }

  get changed(): ISignal<this, void> {
    return this._changed;
  }

  get connection(): Connection {
    return this._connection;
  }

  get problem(): string {
    const trans = this._trans;
    if (this._connection === 'lost') {
      return trans.__('No connection to the Jupyter server. Trying again…');
    }
    if (this._connection !== 'other-version') {
      return '';
    }
    return this._otherVersion > VERSION
      ? trans.__(
          'The Jupyter server’s Glassloom is newer than this page. Reload the page.'
        )
      : trans.__(
          'The Jupyter server’s Glassloom is older than this page. Update the package “glassloom” where Jupyter is installed, restart Jupyter and reload the page.'
        );
  }

  get state(): IState {
    return this._position?.state ?? EMPTY;
  }

  get heardAtMs(): number | null {
    return this._stream.heardAtMs;
  }

  get isDisposed(): boolean {
    return this._stream.isDisposed;
  }

  dispose(): void {
    this._stream.dispose();
    Signal.clearData(this);
  }

  reconnect(): void {
    this._stream.reconnect();
  }

  private _onMessage(_: Stream, text: string): void {
    const message = JSON.parse(text) as Message;
    const outcome = read(this._isFresh ? this._position : null, message);
    switch (outcome.kind) {
      case 'nothing':
        return;
      case 'gap':
        if (this._connection !== 'other-version') {
          this._stream.reconnect();
        }
        return;
      case 'other-version':
        this._otherVersion = outcome.version;
        this._connection = 'other-version';
        break;
      case 'state':
        this._position = outcome.position;
        this._isFresh = true;
        this._connection = 'connected';
    }
    this._changed.emit();
  }

  private _onConnected(_: Stream, connected: boolean): void {
    // What a new connection tells first is a snapshot, whatever the number of the last message was.
    this._isFresh = false;
    if (connected && this._connection === 'connected') {
      // It was lost while nobody looked: panes ask anew for what they follow.
      this._connection = 'connecting';
      this._changed.emit();
    }
    if (!connected && this._connection !== 'other-version') {
      this._connection = 'lost';
      this._changed.emit();
    }
  }

  private readonly _stream: Stream;
  private readonly _changed = new Signal<this, void>(this);
  private _position: IPosition | null = null;
  /** Whether the position is of the current connection. */
  private _isFresh = false;
  private _connection: Connection = 'connecting';
  private _otherVersion = VERSION;
}
