/**
 * What the server tells us and what our plugins share. No behaviour here.
 */
import { Toolbar } from '@jupyterlab/ui-components';
import { Token } from '@lumino/coreutils';
import { ISignal } from '@lumino/signaling';
import { Widget } from '@lumino/widgets';
import type { Preferences } from './model/preferences';

export interface ITaskCounts {
  waiting: number;
  ready: number;
  running: number;
  memory: number;
  released: number;
  erred: number;
}

export interface IGpu {
  name: string;
  /** Null where the device doesn't say. */
  percent: number | null;
  memory_bytes: number | null;
  memory_limit_bytes: number | null;
}

/** Of the devices of all workers together. */
export interface IDeviceMemory {
  /** Results that are held there. */
  held_bytes: number;
  /** What the workers' allocators hold, these results included. */
  pool_bytes: number;
  /** What other processes have taken. */
  other_bytes: number;
  /** Results that had no room there and moved to the host. */
  moved_bytes: number;
  total_bytes: number;
}

/** What a cluster takes beside its workers. */
export interface IEngineCost {
  /** Of the head's process; 100 is one core busy. */
  cpu_percent: number;
  memory_bytes: number;
  /** Of the log of its metrics. */
  log_memory_bytes: number;
  log_disk_bytes: number;
  /** By how much the head's event loop was late at most, in the last minute. */
  loop_lag_s: number;
  /** How many read the log. */
  readers: number;
}

/** What the process takes that draws the dashboards of all clusters. */
export interface IDashboardsCost {
  /** 100 is one core busy. */
  cpu_percent: number;
  memory_bytes: number;
}

export interface IRun {
  /** One for each run of a cluster. */
  id: string;
  /** How it was asked for, such as `compute` or `cell`. */
  kind: string;
  label: string;
  notebook: string | null;
  cell_id: string | null;
  /** Seconds since the epoch; `ended_at` is null while it runs. */
  started_at: number;
  ended_at: number | null;
  outcome: 'running' | 'finished' | 'failed' | 'cancelled';
  tasks_done: number;
  tasks_total: number;
}

/** What a cluster can be asked for. */
export type Ability =
  'scale' | 'adapt' | 'restart' | 'rename' | 'shut_down' | 'log';

export type ClusterState = 'running' | 'starting' | 'silent' | 'paused';

/** One cluster, as `GET glassloom/api/clusters` describes it. */
export interface ICluster {
  id: string;
  /** As it is shown: hidden characters are escapes. */
  name: string;
  /** Whether the cluster is really called so. */
  is_name_exact: boolean;
  kind: string;
  pid: number;
  /** Seconds since the epoch. */
  started_at: number;
  started_by: string;
  kernel_id: string | null;
  workers: number;
  threads: number;
  memory_bytes: number;
  /** Of all workers together; null when any of them has none. */
  memory_limit_bytes: number | null;
  spilled_bytes: number;
  /** Sum over workers; 100 is one core busy. */
  cpu_percent: number;
  cpu_history: number[];
  gpus: IGpu[];
  /** Mean over the devices. */
  gpu_history: number[];
  /** Null: no worker has a device; a server may not say. */
  device_memory?: IDeviceMemory | null;
  /** Null: it has no head, or hasn't told of it; a server may not say. */
  engine?: IEngineCost | null;
  tasks: ITaskCounts;
  errors: number;
  state: ClusterState;
  /** When it was last heard from: seconds since the epoch; null: never. Kept current only while it is silent. */
  heard_at: number | null;
  /** What is not in here isn't offered. */
  can: Ability[];
  adaptive: IBounds | null;
  /** It ends by itself after so long without work; null: never. */
  idle_timeout_s: number | null;
  /** Since when it has nothing to do: seconds since the epoch; null: it is busy. */
  idle_since: number | null;
  /** Paths as JupyterLab knows them. */
  notebook: string | null;
  script: string | null;
  /** The newest first. */
  runs: IRun[];
  /** Which of the starts it came from; null: it was not started from here. */
  start: string | null;
  /** Workers that have died since it was started; a server may not say. */
  workers_lost?: number;
  /** Why nothing can be told of it, such as another version; empty if all is well. */
  problem?: string;
}

/** Between how many workers an adaptive cluster scales itself. */
export interface IBounds {
  minimum: number;
  maximum: number;
}

/** A recording that is open for replay. */
export interface IRecording {
  id: string;
  name: string;
  pid: number;
  /** When its cluster started, and when it was opened: seconds since the epoch. */
  started_at: number;
  opened_at: number;
  /** Where its file is, if it was opened from here. */
  path?: string | null;
}

/** A recording's file, open or not. */
export interface IRecordingFile {
  path: string;
  name: string;
  bytes: number;
  /** Seconds since the epoch. */
  modified_at: number;
  /** Why it cannot be read; empty if it can. */
  problem: string;
}

export interface IRecordingFiles {
  recordings: IRecordingFile[];
  directory: string;
}

/** A cluster of another host or container that shares this user's home: it can be reached only there. */
export interface IClusterElsewhere {
  id: string;
  name: string;
  host: string;
  started_at: number;
}

/** A cluster that was asked for and doesn't run yet, or won't. */
export interface IStart {
  id: string;
  name: string;
  state: 'starting' | 'failed';
  /** Why it failed. */
  problem: string;
  /** The field of the request that the problem is about, if it is about one. */
  field?: string;
  cluster: string | null;
}

/** What a recording is written to. */
export type ExportFormat = 'perfetto' | 'parquet' | 'report' | 'speedscope';

/** A recording that is being written in another format, or was; or a running cluster that is recorded for it. */
export interface IExport {
  id: string;
  /** Of the recording's file, or of the cluster. */
  name: string;
  to: ExportFormat | 'recording';
  state: 'recording' | 'exporting' | 'done' | 'failed';
  /** Seconds since the epoch. */
  started_at: number;
  /** Why it failed. */
  problem: string;
  /** Paths as JupyterLab knows them; null: there is none, or none that it can reach. */
  recording: string | null;
  output: string | null;
  /** Id of the cluster. */
  cluster: string | null;
}

/** A cluster whose head ended though nobody had asked it to. */
export interface ILostCluster {
  id: string;
  name: string;
  /** Seconds since the epoch. */
  at: number;
  /** Id of the start that it came of. */
  start: string | null;
  /** Whether the end of its log is kept. */
  has_log: boolean;
}

/** All that the stream tells. */
export interface IState {
  clusters: readonly ICluster[];
  recordings: readonly IRecording[];
  elsewhere: readonly IClusterElsewhere[];
  starts: readonly IStart[];
  exports: readonly IExport[];
  /** Null: no dashboards process runs, or a server doesn't say. */
  dashboards: IDashboardsCost | null;
  /** The oldest first; an earlier server tells none. */
  lost: readonly ILostCluster[];
}

/** A dashboard page that every cluster has. */
export interface IPage {
  id: string;
  title: string;
  description: string;
  /** What it is about; earlier servers don't say. */
  group?: string;
}

/** What a person may ask of a new cluster; what is left out, the engine chooses. */
export interface IClusterRequest {
  profile?: string;
  name?: string;
  gpu?: boolean;
  n_workers?: number;
  threads_per_worker?: number;
  memory_limit?: string;
  minimum?: number;
  maximum?: number;
  idle_timeout?: string;
  kernel_name?: string;
}

export interface IProfile {
  name: string;
  title: string;
  description: string;
  values: IClusterRequest;
}

export interface IJSONSchema {
  type?: string | string[];
  title?: string;
  description?: string;
  properties?: Record<string, IJSONSchema>;
  anyOf?: IJSONSchema[];
  oneOf?: IJSONSchema[];
  enum?: unknown[];
  const?: unknown;
  default?: unknown;
  $ref?: string;
  $defs?: Record<string, IJSONSchema>;
  [keyword: string]: unknown;
}

export interface IProfiles {
  schema: IJSONSchema;
  profiles: IProfile[];
  kernels: { name: string; title: string }[];
}

/** One place that a number passes on its way from the engine to the screen. */
export interface IHop {
  id: string;
  title: string;
  state: 'good' | 'bad' | 'unknown' | 'skipped';
  detail: string;
  mend: string;
}

/** What a pane shows: it follows this, whatever cluster that is at the moment. */
export type PaneTarget =
  | { kind: 'cluster'; id: string }
  | { kind: 'notebook'; path: string }
  | { kind: 'active' }
  | { kind: 'recording'; path: string };

/** Whether what we show is current. */
export type Connection = 'connecting' | 'connected' | 'lost' | 'other-version';

/** The server's clock: times in the state are the server's, which may differ from this computer's. */
export interface IClock {
  /** Milliseconds since the epoch. */
  readonly nowMs: number;
  /** A second has passed while somebody can see the page: what counts time is to be drawn anew. */
  readonly ticked: ISignal<IClock, void>;
}

/** The state of everything, as the server's stream tells it. The models by noun read it. */
export interface IStateStream {
  /** Anything below has changed. */
  readonly changed: ISignal<IStateStream, void>;
  readonly connection: Connection;
  /** Whether the server has no extension of ours: nothing can be asked of it. */
  readonly isMissing: boolean;
  /** What is wrong with the connection and what to do, for people; empty if all is well. */
  readonly problem: string;
  readonly state: IState;
  /** When it was last heard from, by this computer's clock: milliseconds since the epoch, or null. */
  readonly heardAtMs: number | null;
  readonly clock: IClock;
  /** Try to connect now instead of after the current wait. */
  reconnect(): void;
}

export const IStateStream = new Token<IStateStream>(
  'glassloom:IStateStream',
  'The state of all clusters as the server tells it.'
);

/** The clusters of this user, and what can be done with them. Every method rejects with the server's reason. */
export interface IClusters {
  /** Anything below has changed. */
  readonly changed: ISignal<IClusters, void>;
  /** In the order in which they started. */
  readonly all: readonly ICluster[];
  readonly elsewhere: readonly IClusterElsewhere[];
  readonly starts: readonly IStart[];
  readonly lost: readonly ILostCluster[];
  /**
   * The cluster that dashboards open for: a person's choice, else that of the notebook in front, else the newest.
   * One that was started here counts as chosen until another notebook comes in front that has its own.
   */
  readonly active: ICluster | null;

  find(id: string): ICluster | null;
  /** The newest cluster of a notebook. */
  ofNotebook(path: string): ICluster | null;
  isShuttingDown(id: string): boolean;
  activate(id: string): void;
  profiles(): Promise<IProfiles>;
  /** Ask for a new cluster; resolves with the id of the start when the server has begun it. */
  start(request: IClusterRequest): Promise<string>;
  /**
   * Resolves with a start that has failed; with null when it has become a cluster, was dismissed, or goes on after so long.
   */
  outcomeOf(start: string, timeoutMs: number): Promise<IStart | null>;
  /** What a start asked for, if it was asked for from this page. */
  requestOf(start: string): IClusterRequest | null;
  /** Cancel a start, or dismiss a failed one. */
  dismissStart(id: string): Promise<void>;
  /** These resolve with a sentence for people. */
  scale(id: string, n: number): Promise<string>;
  adapt(id: string, bounds: IBounds | null): Promise<string>;
  restart(id: string): Promise<string>;
  rename(id: string, name: string): Promise<string>;
  /** Resolves when the cluster has ended. */
  shutDown(id: string): Promise<void>;
  /** Kill its processes; resolves when the cluster has ended. */
  kill(id: string): Promise<void>;
  log(id: string): Promise<string[]>;
  doctor(id: string | null): Promise<IHop[]>;
}

export const IClusters = new Token<IClusters>(
  'glassloom:IClusters',
  'The clusters of this user, and what can be done with them.'
);

/** Runs of all clusters. */
export interface IRuns {
  readonly changed: ISignal<IRuns, void>;
  /** The newest first, each with its cluster. */
  readonly all: readonly IClusterRun[];
  ofNotebook(path: string): IClusterRun[];
  /** Tell whether a cluster of a notebook (null: any cluster) has ended since the page was loaded, and its runs with it. */
  hasForgotten(path: string | null): boolean;
}

export interface IClusterRun extends IRun {
  cluster: ICluster;
}

export const IRuns = new Token<IRuns>(
  'glassloom:IRuns',
  'What was computed and what is being computed, in all clusters.'
);

/** Recordings that are open for replay, and files that can be. */
export interface IRecordings {
  readonly changed: ISignal<IRecordings, void>;
  readonly open: readonly IRecording[];
  readonly files: readonly IRecordingFile[];
  /** Where recordings are looked for. */
  readonly directory: string;

  find(id: string): IRecording | null;
  /** The id of the open recording of a file, or null. */
  idOf(path: string): string | null;
  /** Open a file for replay, once; resolves with the recording's id. */
  replay(path: string): Promise<string>;
  /** Show a recording no more; its file stays. */
  close(id: string): Promise<void>;
  /** Look for files anew, if somebody shows them. */
  refresh(): Promise<void>;
  /** Look for files from time to time, as long as `isShown`. */
  watch(isShown: () => boolean): void;
}

export const IRecordings = new Token<IRecordings>(
  'glassloom:IRecordings',
  'Recordings that are open for replay, and files that can be.'
);

/** Recordings and clusters that are written to files in other formats. Every method rejects with the server's reason. */
export interface IExports {
  readonly changed: ISignal<IExports, void>;
  /** Those that go on or have ended, the oldest first. */
  readonly all: readonly IExport[];
  /** One that was going on when this page saw it first, or was asked for here, has ended. */
  readonly ended: ISignal<IExports, IExport>;

  find(id: string): IExport | null;
  /** These resolve when the server has taken it up. */
  exportRecording(path: string, to: IExport['to']): Promise<void>;
  exportCluster(id: string, to: IExport['to']): Promise<void>;
  /** Give one up that goes on, or show one no more that has ended; its files stay. */
  dismiss(id: string): Promise<void>;
}

export const IExports = new Token<IExports>(
  'glassloom:IExports',
  'Recordings and clusters that are written to files in other formats.'
);

/** The dashboard pages that every cluster has. */
export interface IPages {
  readonly changed: ISignal<IPages, void>;
  readonly all: readonly IPage[];
  find(id: string): IPage | null;
}

export const IPages = new Token<IPages>(
  'glassloom:IPages',
  'The dashboard pages that every cluster has.'
);

/** The notebook in front; not in every application. */
export interface INotebooks {
  readonly changed: ISignal<INotebooks, void>;
  /** Its path, or null if there is none. */
  readonly current: string | null;
  /** Insert a cell with this code above the active one; false: there is no notebook. */
  insert(code: string): boolean;
  /** The code of a cell, as the notebook has it now if it is open, else as it was saved; null: there is no such cell. */
  codeOf(path: string, cell: string): Promise<string | null>;
}

export const INotebooks = new Token<INotebooks>(
  'glassloom:INotebooks',
  'The notebook in front.'
);

/** One section of the side panel. */
export interface ISection {
  id: string;
  title: string;
  widget: Widget;
  /** Lower is further up. */
  rank: number;
  /** How high it is at first, beside the other sections; 1 by default. */
  size?: number;
  /** Shown in the section's title. */
  toolbar?: Toolbar;
}

/** The side panel; each of its sections is a plugin. */
export interface IGlassloomPanel {
  addSection(section: ISection): void;
}

export const IGlassloomPanel = new Token<IGlassloomPanel>(
  'glassloom:IGlassloomPanel',
  'The side panel, to add a section to.'
);

/** Opens dashboards; what a person prefers of them. */
export interface IDashboards {
  readonly preferences: Preferences;
  /** Make a pane of the active cluster that is to be put somewhere, such as by dragging; null: there is none. */
  makePane(page: string): Widget | null;
  /** A page is likely to be opened soon: let the server start the dashboards process. */
  warmUp(): void;
}

export const IDashboards = new Token<IDashboards>(
  'glassloom:IDashboards',
  'Opens dashboards as panes.'
);
