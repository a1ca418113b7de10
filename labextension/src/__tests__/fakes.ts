/**
 * A server and a socket that tests drive by hand.
 */
import { ServerConnection } from '@jupyterlab/services';
import { GlassloomAPI } from '../request';
import { ICluster, IRecording, ITaskCounts } from '../tokens';

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
  tellState(state: object): void {
    this.onopen?.();
    this.onmessage?.({ data: JSON.stringify({ clusters: [], ...state }) });
  }

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

/** Return an API whose server answers with what `answers` holds for "METHOD path", else with an empty list of pages. */
export function fakeAPI(
  answers: Record<string, () => Response> = {}
): [GlassloomAPI, ICall[]] {
  const calls: ICall[] = [];
  FakeSocket.opened = [];
  const fetch = async (request: Request): Promise<Response> => {
    const path = new URL(request.url).pathname;
    calls.push({ method: request.method, path, body: await request.text() });
    const answer = answers[`${request.method} ${path}`];
    return answer?.() ?? new Response(JSON.stringify({ pages: [] }));
  };
  const settings = ServerConnection.makeSettings({
    baseUrl: 'http://localhost/user/someone/',
    wsUrl: 'ws://localhost/user/someone/',
    token: 'a b',
    appendToken: true,
    fetch: fetch as unknown as typeof globalThis.fetch,
    WebSocket: FakeSocket as unknown as typeof WebSocket
  });
  return [new GlassloomAPI(settings), calls];
}

/** Let promises that are due go on. */
export async function settle(): Promise<void> {
  for (let round = 0; round < 20; round++) {
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

export function makeCluster(
  fields: Partial<ICluster> = {},
  tasks: Partial<ITaskCounts> = {}
): ICluster {
  return {
    id: 'c1',
    name: 'loom',
    kind: 'processes',
    pid: 1,
    started_at: 0,
    started_by: 'notebook',
    kernel_id: null,
    workers: 2,
    threads: 4,
    memory_bytes: 512,
    memory_limit_bytes: 1024,
    cpu_percent: 120.4,
    cpu_history: [10, 120.4],
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
