/**
 * The server's API, one method an endpoint. It keeps no state.
 */
import { URLExt } from '@jupyterlab/coreutils';
import { ServerConnection } from '@jupyterlab/services';
import { TranslationBundle } from '@jupyterlab/translation';
import {
  IClusterRequest,
  IHop,
  IPage,
  IProfiles,
  IRecordingFiles
} from './tokens';

/** The server's answer to a request that it refuses; the message is meant for a person. */
export class RequestRefused extends Error {
  constructor(
    message: string,
    readonly status: number,
    /** The field of the request that the message is about, if it is about one. */
    readonly field = ''
  ) {
    super(message);
  }
}

/** The server answers, but has no extension of ours, or has it disabled. */
export class ExtensionMissing extends RequestRefused {}

export type Theme = 'light' | 'dark' | 'high-contrast';

/** After so long without an answer a request has failed; the server has shorter limits of its own. */
const TIMEOUT_MS = 45_000;

export class GlassloomAPI {
  constructor(
    readonly settings: ServerConnection.ISettings,
    private readonly _trans: TranslationBundle
  ) {}

  async pages(): Promise<IPage[]> {
    return (await this._get<{ pages: IPage[] }>('pages')).pages;
  }

  profiles(): Promise<IProfiles> {
    return this._get('profiles');
  }

  /** Ask for a cluster; resolves when the server has begun to start it, with the id of the start. */
  startCluster(request: IClusterRequest): Promise<{ id: string }> {
    return this._post('clusters', request);
  }

  async dismissStart(id: string): Promise<void> {
    await this._delete(`starts/${encodeURIComponent(id)}`);
  }

  /** Ask a cluster for something; resolves with what became of it, as a sentence. */
  async control(
    id: string,
    what: 'scale' | 'adapt' | 'restart' | 'rename',
    body: object
  ): Promise<string> {
    const path = `clusters/${encodeURIComponent(id)}/${what}`;
    return (await this._post<{ outcome: string }>(path, body)).outcome;
  }

  async shutDownCluster(id: string): Promise<void> {
    await this._delete(`clusters/${encodeURIComponent(id)}`);
  }

  /** Kill a cluster's processes and remove its record. */
  async killCluster(id: string): Promise<void> {
    await this._delete(`clusters/${encodeURIComponent(id)}?kill=true`);
  }

  /** The newest lines of a cluster's log. */
  async log(id: string): Promise<string[]> {
    const path = `clusters/${encodeURIComponent(id)}/log?lines=500`;
    return (await this._get<{ lines: string[] }>(path)).lines;
  }

  recordings(): Promise<IRecordingFiles> {
    return this._get('recordings');
  }

  openRecording(path: string): Promise<{ id: string }> {
    return this._post('recordings', { path });
  }

  async closeRecording(id: string): Promise<void> {
    await this._delete(`recordings/${encodeURIComponent(id)}`);
  }

  /** Ask for a recording in another format; resolves when the server has begun, with the id of the export. */
  exportRecording(path: string, to: string): Promise<{ id: string }> {
    return this._post('recordings/export', { path, to });
  }

  /** Ask for what a running cluster's log has; as above. */
  exportCluster(id: string, to: string): Promise<{ id: string }> {
    return this._post(`clusters/${encodeURIComponent(id)}/export`, { to });
  }

  async dismissExport(id: string): Promise<void> {
    await this._delete(`exports/${encodeURIComponent(id)}`);
  }

  async doctor(cluster: string | null): Promise<IHop[]> {
    const query = cluster ? `?cluster=${encodeURIComponent(cluster)}` : '';
    return (await this._get<{ hops: IHop[] }>(`doctor${query}`)).hops;
  }

  /** Return null if the dashboards process answers, else why it doesn't; asking starts it. */
  async probeDashboards(): Promise<string | null> {
    try {
      await this._request('dash/health');
      return null;
    } catch (error) {
      return error instanceof RequestRefused
        ? error.message
        : this._trans.__('The Jupyter server does not answer.');
    }
  }

  /** Start the dashboards process if need be; resolves with the addresses of the scripts that all of its pages load. */
  async warmUpDashboards(): Promise<string[]> {
    const answer = await this._request('dash/health');
    const { scripts } = (await answer.json()) as { scripts?: string[] };
    return (scripts ?? []).map(path => new URL(path, this._base).href);
  }

  /** Tell whether the server answers, but without our extension. */
  async isMissing(): Promise<boolean> {
    try {
      await this._request('api/pages');
      return false;
    } catch (error) {
      return error instanceof ExtensionMissing;
    }
  }

  /** Open the stream of all clusters' numbers. */
  openMetrics(): WebSocket {
    const { wsUrl, WebSocket } = this.settings;
    const query = URLExt.objectToQueryString(this._login);
    return new WebSocket(URLExt.join(wsUrl, 'glassloom/api/metrics') + query);
  }

  /** The origin of the pages. */
  get dashboardOrigin(): string {
    return this._base.origin;
  }

  private get _base(): URL {
    return new URL(this.settings.baseUrl, window.location.href);
  }

  /** Where a pane finds a page: always at Jupyter's own address. */
  dashboardUrl(
    cluster: string,
    page: string,
    theme: Theme,
    opened: string | null = null
  ): string {
    const path = [cluster, page].map(encodeURIComponent).join('/');
    const query = opened === null ? { theme } : { theme, open: opened };
    return (
      URLExt.join(this.settings.baseUrl, 'glassloom/dash', path) +
      URLExt.objectToQueryString({ ...query, ...this._login })
    );
  }

  /** What an address says where requests without a header, such as a frame's, have no cookie either. */
  private get _login(): { token?: string } {
    const { token, appendToken } = this.settings;
    return appendToken && token ? { token } : {};
  }

  private async _get<T>(path: string): Promise<T> {
    const answer = await this._request(`api/${path}`);
    return (await answer.json()) as T;
  }

  private async _post<T>(path: string, body: object): Promise<T> {
    const init = { method: 'POST', body: JSON.stringify(body) };
    const answer = await this._request(`api/${path}`, init);
    return (await answer.json()) as T;
  }

  private async _delete(path: string): Promise<void> {
    await this._request(`api/${path}`, { method: 'DELETE' });
  }

  private async _request(
    path: string,
    init: RequestInit = {}
  ): Promise<Response> {
    const url = URLExt.join(this.settings.baseUrl, 'glassloom', path);
    const asked = ServerConnection.makeRequest(url, init, this.settings);
    const answer = await limited(asked, TIMEOUT_MS, () =>
      this._trans.__(
        'The Jupyter server has not answered within %1 s.',
        TIMEOUT_MS / 1000
      )
    );
    if (answer.ok) {
      return answer;
    }
    const { message, field } = await problemOf(answer);
    if (answer.status === 404 && message === null) {
      throw new ExtensionMissing(
        this._trans.__(
          'Glassloom’s extension of the Jupyter server is not enabled. Run “jupyter server extension enable glassloom_server” and restart Jupyter.'
        ),
        404
      );
    }
    const status = `${answer.status} ${answer.statusText}`.trim();
    throw new RequestRefused(message ?? status, answer.status, field);
  }
}

/** Await an answer, but not for ever. */
async function limited<T>(
  answer: Promise<T>,
  timeoutMs: number,
  words: () => string
): Promise<T> {
  let timer = 0;
  const tooLate = new Promise<never>((_, reject) => {
    timer = window.setTimeout(() => {
      reject(new RequestRefused(words(), 504));
    }, timeoutMs);
  });
  try {
    return await Promise.race([answer, tooLate]);
  } finally {
    window.clearTimeout(timer);
  }
}

interface IProblem {
  message: string | null;
  field?: string;
}

/** Return what our extension says; no message if the answer is a page of Jupyter's, or of a proxy before it. */
async function problemOf(answer: Response): Promise<IProblem> {
  const text = await answer.text();
  try {
    const { message, field } = JSON.parse(text) as Partial<IProblem>;
    return { message: message || text, field };
  } catch {
    return {
      message: text === '' || text.trimStart().startsWith('<') ? null : text
    };
  }
}
