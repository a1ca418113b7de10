/**
 * A dashboard page as a JupyterLab pane: it follows the theme, and comes back by itself when its page died.
 */
import { Message } from '@lumino/messaging';
import { Widget } from '@lumino/widgets';
import { glassloomIcon } from '../icons';
import { isRecording } from '../model/kinds';
import { Liveness } from '../model/liveness';
import { GlassloomAPI, Theme } from '../request';
import { IClusterModel } from '../tokens';

const TICK_MS = 500;
/** A cluster that has only just started may not be in the list yet. */
const NOT_LISTED_YET_MS = 3_000;

const LAST_SEEN = 'This is the last that was seen of it.';

export interface IPaneOptions {
  api: GlassloomAPI;
  model: IClusterModel;
  cluster: string;
  /** How the cluster is called when it cannot be asked any more. */
  name: string;
  page: string;
  /** How the page is called. */
  pageTitle: string;
  theme: Theme;
}

export class DashboardPane extends Widget {
  constructor(options: IPaneOptions) {
    super();
    this.cluster = options.cluster;
    this.page = options.page;
    this._name = options.name;
    this.pageTitle = options.pageTitle;
    this._api = options.api;
    this._model = options.model;
    this._theme = options.theme;
    this._liveness = new Liveness(Date.now());

    this.id = DashboardPane.idOf(options.cluster, options.page);
    // JupyterLab's own class keeps the frame from swallowing a drag of the splitter.
    this.addClass('jp-IFrame');
    this.addClass('gl-Pane');
    this.title.icon = glassloomIcon;
    this.title.closable = true;

    this._frame = document.createElement('iframe');
    this._cover = document.createElement('div');
    this._cover.className = 'gl-Pane-cover';
    this._cover.setAttribute('role', 'status');
    this.node.append(this._frame, this._cover);

    this._model.changed.connect(this._onModelChanged, this);
    window.addEventListener('message', this._onMessage);
    this._timer = window.setInterval(() => this._tick(), TICK_MS);
    this._load();
    this._showName();
    this._onModelChanged();
    void this._probe();
  }

  readonly cluster: string;
  readonly page: string;
  readonly pageTitle: string;

  /** How the cluster is called, as far as we know. */
  get name(): string {
    return this._name;
  }

  /** The id of the one pane that shows this page of this cluster. */
  static idOf(cluster: string, page: string): string {
    return `glassloom-${cluster}-${page}`;
  }

  dispose(): void {
    if (this.isDisposed) {
      return;
    }
    window.clearInterval(this._timer);
    window.removeEventListener('message', this._onMessage);
    this._model.changed.disconnect(this._onModelChanged, this);
    super.dispose();
  }

  /** Follow JupyterLab's theme, without losing what the page shows. */
  setTheme(theme: Theme): void {
    this._theme = theme;
    this._frame.contentWindow?.postMessage(
      { type: 'glassloom:theme', theme },
      window.location.origin
    );
  }

  protected onActivateRequest(message: Message): void {
    this._frame.focus();
  }

  private get _hasEnded(): boolean {
    const mayBeUnlisted =
      !this._wasListed && Date.now() - this._madeAtMs < NOT_LISTED_YET_MS;
    return (
      this._model.connection === 'connected' &&
      this._model.nameOf(this.cluster) === null &&
      !mayBeUnlisted
    );
  }

  private _onModelChanged(): void {
    const name = this._model.nameOf(this.cluster);
    if (name !== null) {
      this._wasListed = true;
      this._name = name;
      this._showName();
    }
    this._showState();
  }

  private _showName(): void {
    this.title.label = `${this.pageTitle} · ${this._name}`;
    this.title.caption = `${this.pageTitle} of ${this._kind} ${this._name}`;
    this._frame.title = this.title.caption;
  }

  private _load(): void {
    this._frame.src = this._api.dashboardUrl(
      this.cluster,
      this.page,
      this._theme
    );
  }

  private readonly _onMessage = (event: MessageEvent<unknown>): void => {
    const isOurPage =
      event.source === this._frame.contentWindow &&
      event.origin === window.location.origin;
    if (isOurPage && typeOf(event.data) === 'glassloom:alive') {
      this._liveness.hear(Date.now());
      this._showState();
    }
  };

  private _tick(): void {
    if (this._hasEnded) {
      this._showState();
      return; // Nothing will come back.
    }
    if (this._liveness.tick(Date.now(), document.hidden) === 'probe') {
      void this._probe();
    }
    this._showState();
  }

  private async _probe(): Promise<void> {
    this._problem = await this._api.probeDashboards();
    if (this.isDisposed) {
      return;
    }
    const isReady = this._problem === null;
    if (this._liveness.probed(isReady, Date.now()) === 'reload') {
      this._load();
    }
    this._showState();
  }

  private _showState(): void {
    const state = this._hasEnded ? 'ended' : this._liveness.state;
    // A page that was alive to the end stays to be read; the note is put above it.
    const isBlank = this._liveness.state !== 'live';
    this.node.dataset.state = state;
    this.node.dataset.blank = String(isBlank);
    this._cover.textContent = {
      opening: 'Opening the dashboard…',
      live: '',
      lost: ['Reconnecting…', this._problem ?? ''].join('\n').trim(),
      ended: isBlank ? this._ending : `${this._ending} ${LAST_SEEN}`
    }[state];
  }

  private get _kind(): string {
    return isRecording(this.cluster) ? 'recording' : 'cluster';
  }

  private get _ending(): string {
    return isRecording(this.cluster)
      ? `Recording ${this._name} is not open any more.`
      : `Cluster ${this._name} has ended.`;
  }

  private readonly _api: GlassloomAPI;
  private readonly _model: IClusterModel;
  private readonly _frame: HTMLIFrameElement;
  private readonly _cover: HTMLElement;
  private readonly _liveness: Liveness;
  private readonly _timer: number;
  private readonly _madeAtMs = Date.now();
  private _theme: Theme;
  private _name: string;
  private _wasListed = false;
  /** Why the dashboards don't answer, if they don't. */
  private _problem: string | null = null;
}

function typeOf(data: unknown): unknown {
  return typeof data === 'object' && data !== null && 'type' in data
    ? data.type
    : undefined;
}
