/**
 * Decides from what a dashboard pane sees whether its page lives, and when to load it again. Pure: no clock, no DOM.
 *
 * The page says that it is alive every two seconds while its session is connected, and that it has lost its connection at once. A page
 * that says so, or falls silent, is covered, and the dashboards are probed, ever more rarely; once they answer, the page is loaded again.
 */
import { Backoff } from './backoff';

export type PaneState =
  /** The page is being loaded. */
  | 'opening'
  /** The page is connected. */
  | 'live'
  /** The page fell silent, or never spoke. */
  | 'lost';

/** What the pane is to do next. */
export type Action = 'none' | 'probe' | 'reload';

/** A page that has spoken and is silent for longer is lost; one that has lived for longer has settled. */
export const SILENCE_MS = 6_000;
/** A page that hasn't spoken yet gets longer: the dashboards process may have to start. */
export const OPENING_MS = 30_000;
const FIRST_PROBE_MS = 500;
const LAST_PROBE_MS = 10_000;

export class Liveness {
  constructor(nowMs: number) {
    this._heardAtMs = nowMs;
  }

  get state(): PaneState {
    return this._state;
  }

  /** The page is being loaded, from now on. */
  load(nowMs: number): void {
    this._state = 'opening';
    this._heardAtMs = nowMs;
  }

  /** The page said that it is alive. */
  hear(nowMs: number): void {
    if (this._state !== 'live') {
      this._state = 'live';
      this._liveAtMs = nowMs;
    }
    this._heardAtMs = nowMs;
    if (nowMs - this._liveAtMs > SILENCE_MS) {
      this._backoff.reset();
    }
  }

  /** The page said that its connection was lost. One that loses it again and again is loaded ever more rarely. */
  lose(nowMs: number): void {
    if (this._state === 'live') {
      this._state = 'lost';
      const hasSettled = nowMs - this._liveAtMs > SILENCE_MS;
      this._probeAtMs = hasSettled ? nowMs : nowMs + this._backoff.next();
    }
  }

  /** Time has passed: return what to do. A hidden tab is not judged, browsers stop its timers. */
  tick(nowMs: number, isTabHidden: boolean): Action {
    if (isTabHidden) {
      this._heardAtMs = nowMs;
      return 'none';
    }
    if (this._state === 'lost') {
      return this._probeIfDue(nowMs);
    }
    const patienceMs = this._state === 'live' ? SILENCE_MS : OPENING_MS;
    if (nowMs - this._heardAtMs > patienceMs) {
      this._state = 'lost';
      this._probeAtMs = nowMs;
      return this._probeIfDue(nowMs);
    }
    return 'none';
  }

  /** A probe was answered, or not: return what to do. */
  probed(isReady: boolean, nowMs: number): Action {
    this._isProbing = false;
    if (!isReady) {
      this._state = this._state === 'live' ? 'live' : 'lost';
      this._probeAtMs = nowMs + this._backoff.next();
      return 'none';
    }
    if (this._state !== 'lost') {
      return 'none';
    }
    this.load(nowMs);
    return 'reload';
  }

  private _probeIfDue(nowMs: number): Action {
    if (this._isProbing || nowMs < this._probeAtMs) {
      return 'none';
    }
    this._isProbing = true;
    return 'probe';
  }

  private _state: PaneState = 'opening';
  private _heardAtMs: number;
  private _liveAtMs = 0;
  private _probeAtMs = 0;
  private _isProbing = false;
  private readonly _backoff = new Backoff(FIRST_PROBE_MS, LAST_PROBE_MS);
}
