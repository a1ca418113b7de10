/**
 * The clusters of this user, and what can be done with them. It draws nothing; whoever shows it listens to `changed`.
 */
import { TranslationBundle } from '@jupyterlab/translation';
import { GlassloomAPI } from '../request';
import {
  IBounds,
  ICluster,
  IClusterElsewhere,
  IClusterRequest,
  IClusters,
  IHop,
  ILostCluster,
  INotebooks,
  IProfiles,
  IStart,
  IStateStream
} from '../tokens';
import { Model } from './model';
import { newestOf } from './targets';

/** A cluster that was asked to end and is still there after so long won't end by itself. It takes a few seconds at most. */
export const SHUT_DOWN_TIMEOUT_MS = 15_000;

/** Which cluster is the active one, whatever the notebook in front. */
interface IChoice {
  id: string;
  /** The notebook that was in front when the cluster came, if it was chosen by being started. */
  startedAt?: string | null;
}

export class Clusters extends Model implements IClusters {
  constructor(
    private readonly _api: GlassloomAPI,
    private readonly _stream: IStateStream,
    private readonly _trans: TranslationBundle,
    private readonly _notebooks: INotebooks | null = null
  ) {
    super();
    _stream.changed.connect(this._onStream, this);
    _notebooks?.changed.connect(this._onNotebook, this);
  }

  get all(): readonly ICluster[] {
    return this._stream.state.clusters;
  }

  get elsewhere(): readonly IClusterElsewhere[] {
    return this._stream.state.elsewhere;
  }

  get starts(): readonly IStart[] {
    return this._stream.state.starts;
  }

  get lost(): readonly ILostCluster[] {
    return this._stream.state.lost;
  }

  get active(): ICluster | null {
    const path = this._notebooks?.current ?? null;
    return (
      (this._choice === null ? null : this.find(this._choice.id)) ??
      (path === null ? null : this.ofNotebook(path)) ??
      this.all.at(-1) ??
      null
    );
  }

  find(id: string): ICluster | null {
    return this.all.find(cluster => cluster.id === id) ?? null;
  }

  ofNotebook(path: string): ICluster | null {
    return newestOf(path, this.all);
  }

  isShuttingDown(id: string): boolean {
    return this._shuttingDown.has(id);
  }

  activate(id: string): void {
    this._choice = { id };
    this.emit();
  }

  profiles(): Promise<IProfiles> {
    return this._api.profiles();
  }

  async start(request: IClusterRequest): Promise<string> {
    // The form holds the profile's values. The server doesn't know profiles of the settings, and would fill in what was emptied.
    const values = { ...request };
    delete values.profile;
    const { id } = await this._api.startCluster(values);
    this._requests.set(id, request);
    this._expected = id;
    this._onStream();
    return id;
  }

  outcomeOf(id: string, timeoutMs: number): Promise<IStart | null> {
    return new Promise(resolve => {
      let wasTold = false;
      const settle = (failed: IStart | null): void => {
        clearTimeout(timer);
        this.changed.disconnect(look);
        resolve(failed);
      };
      const look = (): void => {
        const start = this.starts.find(each => each.id === id);
        wasTold ||= start !== undefined;
        const isGone = wasTold && start === undefined;
        if (start?.state === 'failed') {
          settle(start);
        } else if (isGone || this.all.some(each => each.start === id)) {
          settle(null);
        }
      };
      const timer = setTimeout(() => settle(null), timeoutMs);
      this.changed.connect(look);
      look();
    });
  }

  requestOf(start: string): IClusterRequest | null {
    return this._requests.get(start) ?? null;
  }

  async dismissStart(id: string): Promise<void> {
    await this._api.dismissStart(id);
    this._requests.delete(id);
  }

  scale(id: string, n: number): Promise<string> {
    return this._api.control(id, 'scale', { n });
  }

  adapt(id: string, bounds: IBounds | null): Promise<string> {
    return this._api.control(id, 'adapt', { ...bounds });
  }

  restart(id: string): Promise<string> {
    return this._api.control(id, 'restart', {});
  }

  rename(id: string, name: string): Promise<string> {
    return this._api.control(id, 'rename', { name });
  }

  shutDown(id: string): Promise<void> {
    return this._end(id, () => this._api.shutDownCluster(id));
  }

  kill(id: string): Promise<void> {
    return this._end(id, () => this._api.killCluster(id));
  }

  log(id: string): Promise<string[]> {
    return this._api.log(id);
  }

  doctor(id: string | null): Promise<IHop[]> {
    return this._api.doctor(id);
  }

  /** Ask a cluster to end, once; resolves when it has. Rejects with the server's reason, or if it takes too long. */
  private _end(id: string, ask: () => Promise<void>): Promise<void> {
    const underWay = this._shuttingDown.get(id);
    if (underWay !== undefined) {
      return underWay;
    }
    const ended = ask()
      .then(() => this._isGone(id))
      .finally(() => {
        this._shuttingDown.delete(id);
        this.emit();
      });
    this._shuttingDown.set(id, ended);
    this.emit();
    return ended;
  }

  /** Resolves when a cluster is no longer in the list; rejects if that takes too long. */
  private _isGone(id: string): Promise<void> {
    return new Promise((resolve, reject) => {
      const look = (): void => {
        if (this.find(id) === null) {
          stop();
          resolve();
        }
      };
      const giveUp = (): void => {
        stop();
        const seconds = SHUT_DOWN_TIMEOUT_MS / 1000;
        reject(
          new Error(this._trans.__('it has not ended within %1 s', seconds))
        );
      };
      const stop = (): void => {
        clearTimeout(timer);
        this.changed.disconnect(look);
      };
      const timer = setTimeout(giveUp, SHUT_DOWN_TIMEOUT_MS);
      this.changed.connect(look);
      look();
    });
  }

  /** A cluster that was started from here becomes the active one when it comes. */
  private _onStream(): void {
    const started = this.all.find(({ start }) => start === this._expected);
    if (this._expected !== null && started !== undefined) {
      const startedAt = this._notebooks?.current ?? null;
      this._choice = { id: started.id, startedAt };
      this._expected = null;
    }
    this.emit();
  }

  /** A cluster is no longer the active one for having been started when a person turns to another notebook that has its own. */
  private _onNotebook(): void {
    const startedAt = this._choice?.startedAt;
    const path = this._notebooks?.current ?? null;
    if (
      startedAt !== undefined &&
      path !== null &&
      path !== startedAt &&
      this.ofNotebook(path) !== null
    ) {
      this._choice = null;
    }
    this.emit();
  }

  private readonly _shuttingDown = new Map<string, Promise<void>>();
  private readonly _requests = new Map<string, IClusterRequest>();
  private _choice: IChoice | null = null;
  /** The id of the start that a person waits for. */
  private _expected: string | null = null;
}
