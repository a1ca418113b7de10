/**
 * The state of all clusters. It draws nothing; whoever shows it listens to `changed`.
 */
import { IDisposable } from '@lumino/disposable';
import { ISignal, Signal } from '@lumino/signaling';
import { GlassloomAPI } from '../request';
import {
  Connection,
  ICluster,
  IClusterElsewhere,
  IClusterModel,
  IClusterRequest,
  IPage,
  IRecording
} from '../tokens';
import { Stream } from './stream';

/** A cluster that was asked to end and is still there after so long won't end by itself. It takes a few seconds at most. */
const SHUT_DOWN_TIMEOUT_MS = 15_000;

/** What the stream brings: a server that was started before an update may know less. */
interface IState {
  clusters: ICluster[];
  recordings?: IRecording[];
  elsewhere?: IClusterElsewhere[];
}

export class ClusterModel implements IClusterModel, IDisposable {
  constructor(api: GlassloomAPI) {
    this._api = api;
    this._stream = new Stream(() => api.openMetrics());
    this._stream.message.connect(this._onMessage, this);
    this._stream.connected.connect(this._onConnected, this);
    void this._loadPages();
  }

  get changed(): ISignal<this, void> {
    return this._changed;
  }

  get connection(): Connection {
    return this._connection;
  }

  get clusters(): readonly ICluster[] {
    return this._clusters;
  }

  get recordings(): readonly IRecording[] {
    return this._recordings;
  }

  get elsewhere(): readonly IClusterElsewhere[] {
    return this._elsewhere;
  }

  get active(): ICluster | null {
    const chosen = this._chosen === null ? null : this.find(this._chosen);
    return chosen ?? this._clusters.at(-1) ?? null;
  }

  get pages(): readonly IPage[] {
    return this._pages;
  }

  get starting(): readonly string[] {
    return this._starting;
  }

  get isDisposed(): boolean {
    return this._stream.isDisposed;
  }

  dispose(): void {
    this._stream.dispose();
    Signal.clearData(this);
  }

  find(id: string): ICluster | null {
    return this._clusters.find(cluster => cluster.id === id) ?? null;
  }

  nameOf(id: string): string | null {
    const recording = this._recordings.find(each => each.id === id);
    return (recording ?? this.find(id))?.name ?? null;
  }

  isShuttingDown(id: string): boolean {
    return this._shuttingDown.has(id);
  }

  activate(id: string): void {
    this._chosen = id;
    this._changed.emit();
  }

  /** Start a cluster and make it the active one; rejects with the server's reason. */
  async start(request: IClusterRequest): Promise<void> {
    const name = request.name ?? 'a new cluster';
    this._starting = [...this._starting, name];
    this._changed.emit();
    try {
      this._chosen = (await this._api.startCluster(request)).id;
    } finally {
      const index = this._starting.indexOf(name);
      this._starting = this._starting.filter((_, i) => i !== index);
      this._changed.emit();
    }
  }

  /** Ask a cluster to end; resolves when it has. Rejects with the server's reason, or if it takes too long. */
  shutDown(id: string): Promise<void> {
    const underWay = this._shuttingDown.get(id);
    if (underWay !== undefined) {
      return underWay;
    }
    const ended = this._shutDown(id).finally(() => {
      this._shuttingDown.delete(id);
      this._changed.emit();
    });
    this._shuttingDown.set(id, ended);
    this._changed.emit();
    return ended;
  }

  async closeRecording(id: string): Promise<void> {
    await this._api.closeRecording(id);
    this._recordings = this._recordings.filter(each => each.id !== id);
    this._changed.emit();
  }

  private async _shutDown(id: string): Promise<void> {
    await this._api.shutDownCluster(id);
    await this._isGone(id);
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
        reject(
          new Error(`it has not ended within ${SHUT_DOWN_TIMEOUT_MS / 1000} s`)
        );
      };
      const stop = (): void => {
        clearTimeout(timer);
        this._changed.disconnect(look);
      };
      const timer = setTimeout(giveUp, SHUT_DOWN_TIMEOUT_MS);
      this._changed.connect(look);
      look();
    });
  }

  private _onMessage(_: Stream, text: string): void {
    const state = JSON.parse(text) as IState;
    this._clusters = state.clusters;
    this._recordings = state.recordings ?? [];
    this._elsewhere = state.elsewhere ?? [];
    this._connection = 'connected';
    this._changed.emit();
  }

  private _onConnected(_: Stream, connected: boolean): void {
    if (!connected) {
      this._connection = 'lost';
      this._changed.emit();
    } else if (this._pages.length === 0) {
      void this._loadPages();
    }
  }

  private async _loadPages(): Promise<void> {
    try {
      this._pages = await this._api.pages();
      this._changed.emit();
    } catch (error) {
      // Asked for again with the next connection.
      console.warn('Glassloom could not load its list of pages:', error);
    }
  }

  private readonly _api: GlassloomAPI;
  private readonly _stream: Stream;
  private readonly _changed = new Signal<this, void>(this);
  private readonly _shuttingDown = new Map<string, Promise<void>>();
  private _clusters: readonly ICluster[] = [];
  private _recordings: readonly IRecording[] = [];
  private _elsewhere: readonly IClusterElsewhere[] = [];
  private _pages: readonly IPage[] = [];
  private _starting: readonly string[] = [];
  private _connection: Connection = 'connecting';
  private _chosen: string | null = null;
}
