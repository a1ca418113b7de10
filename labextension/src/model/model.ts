/**
 * What all models share: they say when they have changed, and can be disposed of.
 */
import { IDisposable } from '@lumino/disposable';
import { ISignal, Signal } from '@lumino/signaling';

export abstract class Model implements IDisposable {
  get changed(): ISignal<this, void> {
    return this._changed;
  }

  get isDisposed(): boolean {
    return this._isDisposed;
  }

  /** It hears of nothing any more, and nobody hears of it. */
  dispose(): void {
    this._isDisposed = true;
    Signal.clearData(this);
  }

  protected emit(): void {
    this._changed.emit();
  }

  private readonly _changed = new Signal<this, void>(this);
  private _isDisposed = false;
}
