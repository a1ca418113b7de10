/**
 * A WebSocket that comes back by itself, also when the network dies without a word, and rests while the tab is hidden.
 */
import { IDisposable } from '@lumino/disposable';
import { ISignal, Signal } from '@lumino/signaling';
import { Backoff } from './backoff';

const FIRST_DELAY_MS = 500;
const LAST_DELAY_MS = 15_000;
const SLOW_DELAY_MS = 120_000;
/** How long the tab may be hidden before the connection is given up. */
const HIDDEN_MS = 30_000;
/** The server says something every 5 s: after so long without a word the connection is dead, whatever the browser believes. */
export const SILENCE_MS = 16_000;

export class Stream implements IDisposable {
  /**
   * @param open - Opens the WebSocket; called again for each try.
   */
  constructor(private readonly _open: () => WebSocket) {
    document.addEventListener('visibilitychange', this._onVisibilityChange);
    window.addEventListener('online', this._onOnline);
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

  /** When the last message came, or null. */
  get heardAtMs(): number | null {
    return this._heardAtMs;
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
    window.removeEventListener('online', this._onOnline);
    this._cancelTimer();
    this._close();
    Signal.clearData(this);
  }

  /** Try again rarely: there is a server, but nobody who answers, until it is started anew. */
  slowDown(): void {
    this._isSlow = true;
  }

  /** Give up the connection, if there is one, and make a new one now. */
  reconnect(): void {
    this._close();
    this._connect();
  }

  private _connect(): void {
    this._cancelTimer();
    const socket = this._open();
    this._socket = socket;
    this._expectWord();
    socket.onopen = () => {
      this._backoff.reset();
      this._isSlow = false;
      this._expectWord();
      this._connected.emit(true);
    };
    socket.onmessage = (event: MessageEvent<string>) => {
      this._heardAtMs = Date.now();
      this._expectWord();
      this._message.emit(event.data);
    };
    socket.onclose = () => this._lose();
  }

  /** The connection is gone: say so and try again, unless nobody looks. */
  private _lose(): void {
    this._close();
    this._connected.emit(false);
    if (!document.hidden) {
      const delayMs = this._isSlow ? SLOW_DELAY_MS : this._backoff.next();
      this._later(() => this._connect(), delayMs);
    }
  }

  private _close(): void {
    window.clearTimeout(this._silence);
    if (this._socket !== null) {
      this._socket.onopen = null;
      this._socket.onmessage = null;
      this._socket.onclose = null;
      this._socket.close();
      this._socket = null;
    }
  }

  private _expectWord(): void {
    window.clearTimeout(this._silence);
    this._silence = window.setTimeout(() => this._lose(), SILENCE_MS);
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

  private readonly _onOnline = (): void => {
    if (this._socket === null && !document.hidden) {
      this._connect();
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
  private _silence = 0;
  private _heardAtMs: number | null = null;
  private _isDisposed = false;
  private _isSlow = false;
  private readonly _backoff = new Backoff(FIRST_DELAY_MS, LAST_DELAY_MS);
  private readonly _message = new Signal<this, string>(this);
  private readonly _connected = new Signal<this, boolean>(this);
}
