/**
 * What the server tells us and what our plugins share. No behaviour here.
 */
import { Token } from '@lumino/coreutils';
import { ISignal } from '@lumino/signaling';

export interface ITaskCounts {
  waiting: number;
  ready: number;
  running: number;
  memory: number;
  released: number;
  erred: number;
}

/** One running cluster, as `GET glassloom/api/clusters` describes it. */
export interface ICluster {
  id: string;
  name: string;
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
  /** Sum over workers; 100 is one core busy. */
  cpu_percent: number;
  cpu_history: number[];
  tasks: ITaskCounts;
  /** Why nothing can be told of it, such as another version; empty if all is well. */
  problem?: string;
}

/** A recording that a kernel or script has opened, for as long as that runs. */
export interface IRecording {
  id: string;
  name: string;
  pid: number;
  /** When its cluster started, and when it was opened: seconds since the epoch. */
  started_at: number;
  opened_at: number;
}

/** A cluster of another host or container that shares this user's home: it can be reached only there. */
export interface IClusterElsewhere {
  id: string;
  name: string;
  host: string;
  started_at: number;
}

/** A dashboard page that every cluster has. */
export interface IPage {
  id: string;
  title: string;
  description: string;
}

/** What a person may ask of a new cluster; what is left out, the engine chooses. */
export interface IClusterRequest {
  name?: string;
  n_workers?: number;
  threads_per_worker?: number;
  memory_limit?: string;
}

/** Whether what we show is current. */
export type Connection = 'connecting' | 'connected' | 'lost';

/** The state of all clusters, shared by the panel, the panes and the running sessions. */
export interface IClusterModel {
  /** Anything below has changed. */
  readonly changed: ISignal<IClusterModel, void>;
  readonly connection: Connection;
  /** In the order in which they started. */
  readonly clusters: readonly ICluster[];
  /** In the order in which they were opened. */
  readonly recordings: readonly IRecording[];
  readonly elsewhere: readonly IClusterElsewhere[];
  /** The cluster that dashboards open for; the newest unless a person chose another. */
  readonly active: ICluster | null;
  readonly pages: readonly IPage[];
  /** Names of clusters that were asked for and don't run yet. */
  readonly starting: readonly string[];

  find(id: string): ICluster | null;
  /** The name of a running cluster or open recording; null: there is none. */
  nameOf(id: string): string | null;
  isShuttingDown(id: string): boolean;
  activate(id: string): void;
  start(request: IClusterRequest): Promise<void>;
  /** Resolves when the cluster has ended. */
  shutDown(id: string): Promise<void>;
  /** Show a recording no more; its file stays. */
  closeRecording(id: string): Promise<void>;
}

export const IClusterModel = new Token<IClusterModel>(
  'glassloom:IClusterModel',
  'The clusters of this user, and what can be done with them.'
);
