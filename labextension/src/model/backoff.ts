/**
 * How long to wait before the next try: doubling from the first delay to the last. Pure.
 */
export class Backoff {
  constructor(
    private readonly _firstMs: number,
    private readonly _lastMs: number
  ) {
    this._nextMs = _firstMs;
  }

  /** Return the delay before the next try. */
  next(): number {
    const delay = this._nextMs;
    this._nextMs = Math.min(2 * delay, this._lastMs);
    return delay;
  }

  /** A try succeeded: begin again with the first delay. */
  reset(): void {
    this._nextMs = this._firstMs;
  }

  private _nextMs: number;
}
