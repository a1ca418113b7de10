/**
 * A WebSocket that comes back by itself, and rests while the browser tab is hidden.
 */
import { IDisposable } from '@lumino/disposable';
import { ISignal, Signal } from '@lumino/signaling';
import { Backoff } from './backoff';

const FIRST_DELAY_MS = 500;
const LAST_DELAY_MS = 15_000;
/** How long the tab may be hidden before the connection is given up. */
const HIDDEN_MS = 30_000;

export class Stream implements IDisposable {
  /**
   * @param open - Opens the WebSocket; called again for each try.
   */
  constructor(private readonly _open: () => WebSocket) {
    document.addEventListener('visibilitychange', this._onVisibilityChange);
    this._connect();
  }

  /** A text message has come. */
  get message(): ISignal<this, string> {
    return this._message;
  }

  /** The connection was made (true) or lost (false). */
  get connected(): ISignal<this, boolean> {
    return this._connected;
  }

  get isDisposed(): boolean {
    return this._isDisposed;
  }

  dispose(): void {
    if (this._isDisposed) {
      return;
    }
    this._isDisposed = true;
    document.removeEventListener('visibilitychange', this._onVisibilityChange);
    this._cancelTimer();
    this._close();
    Signal.clearData(this);
  }

  private _connect(): void {
    this._cancelTimer();
    const socket = this._open();
    this._socket = socket;
    socket.onopen = () => {
      this._backoff.reset();
      this._connected.emit(true);
    };
    socket.onmessage = (event: MessageEvent<string>) => {
      this._message.emit(event.data);
    };
    socket.onclose = () => {
      this._socket = null;
      this._connected.emit(false);
      if (!document.hidden) {
        this._later(() => this._connect(), this._backoff.next());
      }
    };
  }

  private _close(): void {
    if (this._socket !== null) {
      this._socket.onopen = null;
      this._socket.onmessage = null;
      this._socket.onclose = null;
      this._socket.close();
      this._socket = null;
    }
  }

  private readonly _onVisibilityChange = (): void => {
    if (document.hidden) {
      this._later(() => this._close(), HIDDEN_MS);
    } else if (this._socket === null) {
      this._connect();
    } else {
      this._cancelTimer();
    }
  };

  private _later(action: () => void, delayMs: number): void {
    this._cancelTimer();
    this._timer = window.setTimeout(action, delayMs);
  }

  private _cancelTimer(): void {
    window.clearTimeout(this._timer);
  }

  private _socket: WebSocket | null = null;
  private _timer = 0;
  private _isDisposed = false;
  private readonly _backoff = new Backoff(FIRST_DELAY_MS, LAST_DELAY_MS);
  private readonly _message = new Signal<this, string>(this);
  private readonly _connected = new Signal<this, boolean>(this);
}
