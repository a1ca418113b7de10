/**
 * The server's clock as far as this page knows it, and a tick each second while somebody can see the page. It draws nothing.
 */
import { IDisposable } from '@lumino/disposable';
import { ISignal, Signal } from '@lumino/signaling';
import { IClock } from '../tokens';

const TICK_MS = 1_000;
/** What a message takes on its way is no difference between two clocks. */
const TOLERANCE_MS = 1_000;

export class Clock implements IClock, IDisposable {
  constructor() {
    this._timer = window.setInterval(() => {
      if (!document.hidden) {
        this._ticked.emit();
      }
    }, TICK_MS);
  }

  get nowMs(): number {
    return Date.now() + this._aheadMs;
  }

  get ticked(): ISignal<this, void> {
    return this._ticked;
  }

  /** The server has just said what time it is. */
  set(serverMs: number): void {
    if (Math.abs(serverMs - this.nowMs) > TOLERANCE_MS) {
      this._aheadMs = serverMs - Date.now();
      this._ticked.emit();
    }
  }

  get isDisposed(): boolean {
    return this._timer === 0;
  }

  dispose(): void {
    window.clearInterval(this._timer);
    this._timer = 0;
    Signal.clearData(this);
  }

  private readonly _ticked = new Signal<this, void>(this);
  private _timer: number;
  /** By how much the server's clock is ahead of this computer's. */
  private _aheadMs = 0;
}
