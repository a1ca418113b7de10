/**
 * A server and a socket that tests drive by hand.
 */
import { ServerConnection } from '@jupyterlab/services';
import { nullTranslator, TranslationBundle } from '@jupyterlab/translation';
import { Signal } from '@lumino/signaling';
import { Clusters } from '../model/clusters';
import { Exports } from '../model/exports';
import { Pages } from '../model/pages';
import { Recordings } from '../model/recordings';
import { Runs } from '../model/runs';
import { StateStream } from '../model/stateStream';
import { GlassloomAPI } from '../request';
import {
  ICluster,
  IExport,
  INotebooks,
  IRecording,
  IRun,
  IState,
  ITaskCounts
} from '../tokens';

export const trans: TranslationBundle = nullTranslator.load('glassloom');

export class FakeSocket {
  onopen: (() => void) | null = null;
  onclose: (() => void) | null = null;
  onmessage: ((event: { data: string }) => void) | null = null;
  isClosed = false;

  constructor(readonly url: string) {
    FakeSocket.opened.push(this);
  }

  close(): void {
    this.isClosed = true;
  }

  /** The server accepts the connection and sends the list of clusters. */
  tell(...clusters: ICluster[]): void {
    this.tellState({ clusters });
  }

  /** The server accepts the connection and sends all that it knows. */
  tellState(state: Partial<IState>): void {
    this.onopen?.();
    this.sequence = 1;
    this.send({
      version: 2,
      type: 'snapshot',
      sequence: 1,
      state: { clusters: [], ...state }
    });
  }

  /** The server sends what has changed. */
  tellChanges(changes: object): void {
    this.sequence += 1;
    const { sequence } = this;
    this.send({ version: 2, type: 'changes', sequence, ...changes });
  }

  send(message: object): void {
    this.onmessage?.({ data: JSON.stringify(message) });
  }

  sequence = 0;

  static opened: FakeSocket[] = [];

  static get last(): FakeSocket {
    return FakeSocket.opened[FakeSocket.opened.length - 1];
  }
}

export interface ICall {
  method: string;
  path: string;
  body: string;
}

/**
 * Return an API whose server answers with what `answers` holds for "METHOD path", else with an empty list of pages and recordings.
 * `appendToken` is for a front end that has no cookie of the server's.
 */
export function fakeAPI(
  answers: Record<string, () => Response> = {},
  { baseUrl = 'http://localhost/user/someone/', appendToken = false } = {}
): [GlassloomAPI, ICall[]] {
  const calls: ICall[] = [];
  FakeSocket.opened = [];
  const fetch = async (request: Request): Promise<Response> => {
    const path = new URL(request.url).pathname;
    calls.push({ method: request.method, path, body: await request.text() });
    const answer = answers[`${request.method} ${path}`];
    const nothing = { pages: [], recordings: [], directory: '' };
    return answer?.() ?? new Response(JSON.stringify(nothing));
  };
  const settings = ServerConnection.makeSettings({
    baseUrl,
    wsUrl: baseUrl.replace('http', 'ws'),
    token: 'a b',
    appendToken,
    fetch: fetch as unknown as typeof globalThis.fetch,
    WebSocket: FakeSocket as unknown as typeof WebSocket
  });
  return [new GlassloomAPI(settings, trans), calls];
}

/** The notebook in front, put there by hand. */
export class FakeNotebooks implements INotebooks {
  readonly changed = new Signal<this, void>(this);
  current: string | null = null;
  readonly inserted: string[] = [];

  show(path: string | null): void {
    this.current = path;
    this.changed.emit();
  }

  insert(code: string): boolean {
    this.inserted.push(code);
    return this.current !== null;
  }

  codeOf(path: string, cell: string): Promise<string | null> {
    return Promise.resolve(`${path}#${cell}`);
  }
}

export interface IModels {
  api: GlassloomAPI;
  calls: ICall[];
  notebooks: FakeNotebooks;
  stream: StateStream;
  clusters: Clusters;
  runs: Runs;
  recordings: Recordings;
  exported: Exports;
  pages: Pages;
  dispose: () => void;
}

/** Return all models, as the plugins make them, of a server with `answers`. */
export function makeModels(
  answers: Record<string, () => Response> = {}
): IModels {
  const [api, calls] = fakeAPI(answers);
  const notebooks = new FakeNotebooks();
  const stream = new StateStream(api, trans);
  const clusters = new Clusters(api, stream, trans, notebooks);
  const runs = new Runs(stream);
  const recordings = new Recordings(api, stream);
  const exported = new Exports(api, stream);
  const pages = new Pages(api, stream);
  const dispose = (): void => {
    for (const model of [clusters, runs, recordings, exported, pages, stream]) {
      model.dispose();
    }
  };
  return {
    api,
    calls,
    notebooks,
    stream,
    clusters,
    runs,
    recordings,
    exported,
    pages,
    dispose
  };
}

/** Return an answer that holds JSON. */
export function json(value: unknown, status = 200): () => Response {
  return () => new Response(JSON.stringify(value), { status });
}

/** Let promises that are due go on. */
export async function settle(): Promise<void> {
  for (let round = 0; round < 50; round++) {
    await Promise.resolve();
  }
}

export function makeRecording(fields: Partial<IRecording> = {}): IRecording {
  return {
    id: 'recording-1',
    name: 'loom (run.glr)',
    pid: 1,
    started_at: 0,
    opened_at: 0,
    ...fields
  };
}

export function makeExport(fields: Partial<IExport> = {}): IExport {
  return {
    id: 'e1',
    name: 'run.glr',
    to: 'perfetto',
    state: 'exporting',
    started_at: 0,
    problem: '',
    recording: 'run.glr',
    output: null,
    cluster: null,
    ...fields
  };
}

export function makeRun(fields: Partial<IRun> = {}): IRun {
  return {
    id: '1',
    kind: 'compute',
    label: 'sum',
    notebook: null,
    cell_id: null,
    started_at: 100,
    ended_at: null,
    outcome: 'running',
    tasks_done: 3,
    tasks_total: 12,
    ...fields
  };
}

export function makeCluster(
  fields: Partial<ICluster> = {},
  tasks: Partial<ITaskCounts> = {}
): ICluster {
  return {
    id: 'c1',
    name: 'loom',
    is_name_exact: true,
    kind: 'processes',
    pid: 1,
    started_at: 0,
    started_by: 'notebook',
    kernel_id: null,
    workers: 2,
    threads: 4,
    memory_bytes: 512,
    memory_limit_bytes: 1024,
    spilled_bytes: 0,
    cpu_percent: 120.4,
    cpu_history: [10, 120.4],
    gpus: [],
    gpu_history: [],
    errors: 0,
    state: 'running',
    heard_at: 0,
    can: ['scale', 'adapt', 'restart', 'rename', 'shut_down', 'log'],
    adaptive: null,
    idle_timeout_s: null,
    idle_since: null,
    notebook: null,
    script: null,
    runs: [],
    start: null,
    tasks: {
      waiting: 0,
      ready: 0,
      running: 0,
      memory: 0,
      released: 0,
      erred: 0,
      ...tasks
    },
    ...fields
  };
}
