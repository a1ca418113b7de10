/**
 * The server's API, one method an endpoint. It keeps no state.
 */
import { URLExt } from '@jupyterlab/coreutils';
import { ServerConnection } from '@jupyterlab/services';
import { IClusterRequest, IPage } from './tokens';

/** The server's answer to a request that it refuses; the message is meant for a person. */
export class RequestRefused extends Error {
  constructor(
    message: string,
    readonly status: number
  ) {
    super(message);
  }
}

export type Theme = 'light' | 'dark' | 'high-contrast';

export class GlassloomAPI {
  constructor(readonly settings: ServerConnection.ISettings) {}

  async pages(): Promise<IPage[]> {
    const answer = await this._request('api/pages');
    return ((await answer.json()) as { pages: IPage[] }).pages;
  }

  /** Start a cluster; resolves when it runs. */
  async startCluster(request: IClusterRequest): Promise<{ id: string }> {
    const body = JSON.stringify(request);
    const answer = await this._request('api/clusters', {
      method: 'POST',
      body
    });
    return (await answer.json()) as { id: string };
  }

  async shutDownCluster(id: string): Promise<void> {
    await this._request(`api/clusters/${encodeURIComponent(id)}`, {
      method: 'DELETE'
    });
  }

  async closeRecording(id: string): Promise<void> {
    await this._request(`api/recordings/${encodeURIComponent(id)}`, {
      method: 'DELETE'
    });
  }

  /** Return null if the dashboards process answers, else why it doesn't; asking starts it. */
  async probeDashboards(): Promise<string | null> {
    try {
      await this._request('dash/health');
      return null;
    } catch (error) {
      return error instanceof RequestRefused
        ? error.message
        : 'The Jupyter server does not answer.';
    }
  }

  /** Open the stream of all clusters' numbers. */
  openMetrics(): WebSocket {
    const { wsUrl, token, appendToken, WebSocket } = this.settings;
    const query =
      appendToken && token ? `?token=${encodeURIComponent(token)}` : '';
    return new WebSocket(URLExt.join(wsUrl, 'glassloom/api/metrics') + query);
  }

  /** Where a pane finds a page: always at Jupyter's own address. */
  dashboardUrl(cluster: string, page: string, theme: Theme): string {
    const path = [cluster, page].map(encodeURIComponent).join('/');
    return (
      URLExt.join(this.settings.baseUrl, 'glassloom/dash', path) +
      `?theme=${theme}`
    );
  }

  private async _request(
    path: string,
    init: RequestInit = {}
  ): Promise<Response> {
    const url = URLExt.join(this.settings.baseUrl, 'glassloom', path);
    const answer = await ServerConnection.makeRequest(url, init, this.settings);
    if (!answer.ok) {
      throw new RequestRefused(await reasonOf(answer), answer.status);
    }
    return answer;
  }
}

async function reasonOf(answer: Response): Promise<string> {
  const text = await answer.text();
  try {
    return (JSON.parse(text) as { message?: string }).message || text;
  } catch {
    return text || `${answer.status} ${answer.statusText}`;
  }
}
