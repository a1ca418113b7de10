/**
 * The state of everything, kept current through one WebSocket. It draws nothing; whoever shows it listens to `changed`.
 */
import { TranslationBundle } from '@jupyterlab/translation';
import { GlassloomAPI } from '../request';
import { Connection, IState, IStateStream } from '../tokens';
import { Clock } from './clock';
import { Model } from './model';
import { EMPTY, IPosition, Message, read, VERSION } from './state';
import { Stream } from './stream';

export class StateStream extends Model implements IStateStream {
  constructor(
    api: GlassloomAPI,
    private readonly _trans: TranslationBundle
  ) {
    super();
    this._api = api;
    this._stream = new Stream(() => api.openMetrics());
    this._stream.message.connect(this._onMessage, this);
    this._stream.connected.connect(this._onConnected, this);
  }

  readonly clock = new Clock();

  get connection(): Connection {
    return this._connection;
  }

  get isMissing(): boolean {
    return this._isMissing;
  }

  get problem(): string {
    const trans = this._trans;
    if (this._isMissing) {
      return trans.__(
        'Glassloom’s extension of the Jupyter server is not enabled: there are no dashboards, and no list of clusters. Progress below cells and live outputs work without it. To enable it, run “jupyter server extension enable glassloom_server” and restart Jupyter.'
      );
    }
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

  dispose(): void {
    this._stream.dispose();
    this.clock.dispose();
    super.dispose();
  }

  reconnect(): void {
    this._stream.reconnect();
  }

  private _onMessage(_: Stream, text: string): void {
    const message = JSON.parse(text) as Message;
    if (message.now !== undefined) {
      this.clock.set(1000 * message.now);
    }
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
    this.emit();
  }

  private _onConnected(_: Stream, connected: boolean): void {
    // What a new connection tells first is a snapshot, whatever the number of the last message was.
    this._isFresh = false;
    if (connected && this._connection === 'connected') {
      // It was lost while nobody looked: panes ask anew for what they follow.
      this._connection = 'connecting';
      this.emit();
    }
    if (connected) {
      this._isMissing = false;
    } else if (this._position === null) {
      void this._askWhy();
    }
    if (!connected && this._connection !== 'other-version') {
      this._connection = 'lost';
      this.emit();
    }
  }

  /** Nothing was ever heard: look whether there is nobody who could say it. */
  private async _askWhy(): Promise<void> {
    const isMissing = await this._api.isMissing();
    if (isMissing && this._connection === 'lost' && !this.isDisposed) {
      this._stream.slowDown();
      this._isMissing = true;
      this.emit();
    }
  }

  private readonly _api: GlassloomAPI;
  private readonly _stream: Stream;
  private _position: IPosition | null = null;
  /** Whether the position is of the current connection. */
  private _isFresh = false;
  private _connection: Connection = 'connecting';
  private _otherVersion = VERSION;
  private _isMissing = false;
}
