/**
 * Puts the messages of the server's stream together to one state. Pure: no socket, no clock.
 */
import { ICluster, IState } from '../tokens';
import { visible, withVisible } from './visible';

/** The version of the stream that we read. */
export const VERSION = 2;

export const EMPTY: IState = {
  clusters: [],
  recordings: [],
  elsewhere: [],
  starts: [],
  exports: [],
  dashboards: null,
  lost: []
};

interface ITimed {
  /** When it was sent: seconds since the epoch; a server may not say. */
  now?: number;
}

interface ISnapshot extends ITimed {
  version: number;
  type: 'snapshot';
  sequence: number;
  state: Partial<IState>;
}

interface IChanges extends ITimed {
  version: number;
  type: 'changes';
  sequence: number;
  /** By id: only the fields that changed; null: it is gone. */
  clusters?: Record<string, Partial<ICluster> | null>;
  /** All ids, when their order changed. */
  order?: string[];
  recordings?: IState['recordings'];
  elsewhere?: IState['elsewhere'];
  starts?: IState['starts'];
  exports?: IState['exports'];
  dashboards?: IState['dashboards'];
  lost?: IState['lost'];
}

interface IAlive extends ITimed {
  type: 'alive';
  sequence: number;
}

export type Message = ISnapshot | IChanges | IAlive;

/** What has been read so far. */
export interface IPosition {
  sequence: number;
  state: IState;
}

export type Outcome =
  | { kind: 'state'; position: IPosition }
  /** The state is as it was. */
  | { kind: 'nothing' }
  /** Something was missed: begin anew with a snapshot. */
  | { kind: 'gap' }
  | { kind: 'other-version'; version: number };

/**
 * Read one message.
 *
 * @param before - What was read so far; null before the first snapshot.
 */
export function read(before: IPosition | null, message: Message): Outcome {
  if (message.type === 'alive') {
    const isNext = before !== null && message.sequence <= before.sequence;
    return isNext ? { kind: 'nothing' } : { kind: 'gap' };
  }
  if (message.version !== VERSION) {
    return { kind: 'other-version', version: message.version ?? 1 };
  }
  switch (message.type) {
    case 'snapshot': {
      const state = completed({ ...EMPTY, ...message.state });
      return {
        kind: 'state',
        position: { sequence: message.sequence, state }
      };
    }
    case 'changes':
      if (before === null || message.sequence !== before.sequence + 1) {
        return { kind: 'gap' };
      }
      return {
        kind: 'state',
        position: {
          sequence: message.sequence,
          state: changed(before.state, message)
        }
      };
    default:
      return { kind: 'nothing' }; // of a later server
  }
}

/** Apply changes; what did not change stays the same object. */
function changed(before: IState, message: IChanges): IState {
  return {
    ...before,
    ...listsOf(message),
    clusters: changedClusters(before.clusters, message),
    dashboards:
      message.dashboards === undefined ? before.dashboards : message.dashboards,
    lost: message.lost ?? before.lost
  };
}

function changedClusters(
  before: readonly ICluster[],
  { clusters = {}, order }: IChanges
): readonly ICluster[] {
  const byId = new Map(before.map(cluster => [cluster.id, cluster]));
  for (const [id, fields] of Object.entries(clusters)) {
    if (fields === null) {
      byId.delete(id);
    } else {
      byId.set(id, withDefaults({ ...byId.get(id), ...shown(fields), id }));
    }
  }
  const known = (order ?? [...byId.keys()]).filter(id => byId.has(id));
  return known.map(id => byId.get(id) as ICluster);
}

function completed(state: IState): IState {
  return {
    ...state,
    ...listsOf(state),
    clusters: state.clusters.map(cluster => withDefaults(shown(cluster)))
  };
}

/** Return the lists beside that of clusters which a message has. */
function listsOf(message: Partial<IState> | IChanges): Partial<IState> {
  const { recordings, elsewhere, starts, exports } = message;
  return {
    ...(recordings && {
      recordings: recordings.map(each => withVisible(each, 'name'))
    }),
    ...(elsewhere && {
      elsewhere: elsewhere.map(each => withVisible(each, 'name', 'host'))
    }),
    ...(starts && {
      starts: starts.map(each => withVisible(each, 'name', 'problem'))
    }),
    ...(exports && {
      exports: exports.map(each => withVisible(each, 'name', 'problem'))
    })
  };
}

/** Return what a server says of a cluster, with names as they are shown. Paths stay, as files are found by them. */
function shown(fields: Partial<ICluster>): Partial<ICluster> {
  const { name, runs } = fields;
  return {
    ...withVisible(fields, 'name', 'problem'),
    ...(name !== undefined && { is_name_exact: visible(name) === name }),
    ...(runs && { runs: runs.map(run => withVisible(run, 'label')) })
  };
}

/** Fill in what a server may leave out, so that nothing else has to ask. */
function withDefaults(cluster: Partial<ICluster>): ICluster {
  return { ...NOTHING_SAID, ...cluster };
}

const NOTHING_SAID: ICluster = {
  id: '',
  name: '',
  is_name_exact: true,
  kind: 'processes',
  pid: 0,
  started_at: 0,
  started_by: '',
  kernel_id: null,
  workers: 0,
  threads: 0,
  memory_bytes: 0,
  memory_limit_bytes: null,
  spilled_bytes: 0,
  cpu_percent: 0,
  cpu_history: [],
  gpus: [],
  gpu_history: [],
  tasks: {
    waiting: 0,
    ready: 0,
    running: 0,
    memory: 0,
    released: 0,
    erred: 0
  },
  errors: 0,
  state: 'running',
  heard_at: null,
  can: [],
  adaptive: null,
  idle_timeout_s: null,
  idle_since: null,
  notebook: null,
  script: null,
  runs: [],
  start: null
};
