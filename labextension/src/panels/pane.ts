/**
 * A dashboard page as a JupyterLab pane: it follows its target and the theme, and comes back by itself when its page died.
 */
import { TranslationBundle } from '@jupyterlab/translation';
import { Message } from '@lumino/messaging';
import { Widget } from '@lumino/widgets';
import { glassloomIcon } from '../icons';
import { isRecording } from '../model/kinds';
import { Liveness, PaneState } from '../model/liveness';
import { IShown, Resolver } from '../model/resolver';
import { keyOf } from '../model/targets';
import { GlassloomAPI, Theme } from '../request';
import { Connection, IPages, IStateStream, PaneTarget } from '../tokens';

const TICK_MS = 500;
/** A cluster that has only just started may not be in the list yet; a list that hasn't come by then won't come soon. */
const NOT_LISTED_YET_MS = 3_000;

type Obstacle =
  /** The server has no extension of ours, or has it disabled. */
  | 'missing'
  /** The server knows no such page, as when a layout is of another version. */
  | 'no-page';

/** How a pane stands, as its style sheet and tests know it. */
type State = PaneState | 'ended' | Obstacle;

/** What a pane offers to do where it has nothing to show. */
type Offer = 'follow-active' | 'diagnose' | 'show-pages' | 'close';

export interface IPaneOptions {
  api: GlassloomAPI;
  stream: IStateStream;
  pages: IPages;
  resolver: Resolver;
  trans: TranslationBundle;
  target: PaneTarget;
  page: string;
  /** How the target and the page were called when they were last seen. */
  name: string;
  pageTitle: string;
  theme: Theme;
  /** What to open in the page: the id of a run. */
  opened?: string | null;
  /** What a person can do when the target has ended, or does not answer. */
  onFollowActive?: (pane: DashboardPane) => void;
  onDiagnose?: (cluster: string | null) => void;
  /** Show the list of all pages. */
  onShowPages?: () => void;
}

export class DashboardPane extends Widget {
  constructor(private readonly _options: IPaneOptions) {
    super();
    this._target = _options.target;
    this.page = _options.page;
    this._theme = _options.theme;
    this._opened = _options.opened ?? null;
    this._name = _options.name;
    this._liveness = new Liveness(Date.now());
    this._isMadeNow = _options.stream.connection === 'connected';

    this._setId();
    // JupyterLab's own class keeps the frame from swallowing a drag of the splitter.
    this.addClass('jp-IFrame');
    this.addClass('gl-Pane');
    this.title.icon = glassloomIcon;
    this.title.closable = true;
    this.node.dataset.page = this.page;

    this._frame = document.createElement('iframe');
    this._cover = document.createElement('div');
    this._cover.className = 'gl-Pane-cover';
    this._words = document.createElement('p');
    this._words.setAttribute('role', 'status');
    this._actions = document.createElement('div');
    this._actions.className = 'gl-Pane-actions';
    this._cover.append(this._words, this._actions);
    this.node.append(this._frame, this._cover);

    _options.stream.changed.connect(this._follow, this);
    _options.pages.changed.connect(this._onPages, this);
    _options.resolver.changed.connect(this._follow, this);
    window.addEventListener('message', this._onMessage);
    this._timer = window.setInterval(() => this._tick(), TICK_MS);
    this._follow();
    this._showName();
  }

  readonly page: string;

  get target(): PaneTarget {
    return this._target;
  }

  /** How the target is called, as far as we know. */
  get name(): string {
    return this._name;
  }

  get pageTitle(): string {
    const { pages, pageTitle } = this._options;
    return pages.find(this.page)?.title ?? pageTitle;
  }

  /** The id of the one pane that shows this page of this target. */
  static idOf(target: PaneTarget, page: string): string {
    return `glassloom-${keyOf(target)}-${page}`;
  }

  dispose(): void {
    if (this.isDisposed) {
      return;
    }
    window.clearInterval(this._timer);
    window.removeEventListener('message', this._onMessage);
    this._options.stream.changed.disconnect(this._follow, this);
    this._options.pages.changed.disconnect(this._onPages, this);
    this._options.resolver.changed.disconnect(this._follow, this);
    super.dispose();
  }

  /** Show another target in the same place. */
  setTarget(target: PaneTarget): void {
    this._target = target;
    this._setId();
    this._madeAtMs = Date.now();
    this._isMadeNow = true;
    this._wasListed = false;
    this._connection = null;
    this._follow();
    this._showName();
  }

  /** Load the page anew with something opened in it, such as a run. */
  openInPage(id: string): void {
    this._opened = id;
    this._load();
    this._showState();
  }

  /** Follow JupyterLab's theme, without losing what the page shows. */
  setTheme(theme: Theme): void {
    this._theme = theme;
    this._frame.contentWindow?.postMessage(
      { type: 'glassloom:theme', theme },
      this._options.api.dashboardOrigin
    );
  }

  /** A frame that was put elsewhere, as when its tab was dragged, is loaded anew by the browser. */
  protected onAfterAttach(message: Message): void {
    super.onAfterAttach(message);
    if (this._frame.hasAttribute('src')) {
      this._liveness.load(Date.now());
      this._showState();
    }
    this._loadIfDue();
  }

  protected onAfterShow(message: Message): void {
    super.onAfterShow(message);
    this._loadIfDue();
  }

  protected onActivateRequest(message: Message): void {
    this._frame.focus();
  }

  /** A closed pane doesn't come back: it asks for nothing more, and isn't restored. */
  protected onCloseRequest(message: Message): void {
    super.onCloseRequest(message);
    this.dispose();
  }

  /** The tab's context menu finds its widget by the id in its data, also where a drop has put the pane. */
  private _setId(): void {
    this.id = DashboardPane.idOf(this._target, this.page);
    this.title.dataset = { ...this.title.dataset, id: this.id };
  }

  private get _hasEnded(): boolean {
    const mayBeUnlisted =
      this._isMadeNow &&
      !this._wasListed &&
      Date.now() - this._madeAtMs < NOT_LISTED_YET_MS;
    const { resolver } = this._options;
    return (
      this._hasSeenList &&
      this._shown === null &&
      !resolver.isComing(this._target) &&
      !mayBeUnlisted
    );
  }

  /** Why there is no use in asking for the page: nobody serves pages, or none of this name. Null: there is none, or it lives. */
  private get _obstacle(): Obstacle | null {
    const { pages, stream } = this._options;
    if (this._liveness.state === 'live') {
      return null;
    }
    if (stream.isMissing) {
      return 'missing';
    }
    const isUnknown = pages.all.length > 0 && pages.find(this.page) === null;
    return isUnknown ? 'no-page' : null;
  }

  private _onPages(): void {
    this._showName();
    this._loadIfDue();
    this._showState();
  }

  /** Look what the target is now; another cluster than before is loaded in the place of the old one. */
  private _follow(): void {
    const { resolver, stream } = this._options;
    if (stream.connection !== this._connection) {
      this._connection = stream.connection;
      if (stream.connection === 'connected') {
        void resolver.prepare(this._target); // also after a restart of the server
      }
    }
    this._hasSeenList ||= stream.connection === 'connected';
    const shown = resolver.resolve(this._target);
    const isUnknown = stream.connection !== 'connected' && shown === null;
    if (!isUnknown) {
      this._shown = shown;
    }
    if (shown !== null) {
      this._wasListed = true;
      if (shown.name !== this._name) {
        this._name = shown.name;
        this._showName();
      }
    }
    const id = shown?.id ?? this._unlistedId ?? this._loadedId;
    if (id !== null && id !== this._loadedId) {
      if (this._loadedId !== null) {
        this._opened = null; // it was of another cluster
      }
      this._loadedId = id;
      this._liveness = new Liveness(Date.now());
      this._load();
    }
    this._loadIfDue();
    this._showState();
  }

  /** A cluster's id is as good as its entry in a list that doesn't come. What is not in the list isn't asked for. */
  private get _unlistedId(): string | null {
    const isAwaited =
      this._hasSeenList || Date.now() - this._madeAtMs < NOT_LISTED_YET_MS;
    return this._target.kind === 'cluster' && !isAwaited
      ? this._target.id
      : null;
  }

  private _showName(): void {
    const label = [this.pageTitle, this._name].filter(Boolean).join(' · ');
    if (this.title.label !== label) {
      const { trans } = this._options;
      this.title.label = label;
      this.title.caption = this._isRecording
        ? trans.__('%1 of recording %2', this.pageTitle, this._name)
        : trans.__('%1 of cluster %2', this.pageTitle, this._name);
      this._frame.title = this.title.caption;
    }
  }

  /** Load the page, once somebody can see it: all pages share one thread of the browser, and those in front come first. */
  private _load(areReady = false): void {
    if (this._loadedId !== null) {
      this.node.dataset.cluster = this._loadedId;
      this._isDue = true;
      this._loadIfDue(areReady);
    }
  }

  /** @param areReady - Whether the dashboards have just answered. */
  private _loadIfDue(areReady = false): void {
    if (
      !this._isDue ||
      !this.isVisible ||
      this._loadedId === null ||
      this._obstacle !== null
    ) {
      return;
    }
    this._isDue = false;
    this._liveness.load(Date.now());
    this._frame.src = this._options.api.dashboardUrl(
      this._loadedId,
      this.page,
      this._theme,
      this._opened
    );
    if (!areReady) {
      void this._probe();
    }
  }

  private readonly _onMessage = (event: MessageEvent<unknown>): void => {
    const isOurPage =
      event.source === this._frame.contentWindow &&
      event.origin === this._options.api.dashboardOrigin;
    const type = isOurPage ? typeOf(event.data) : undefined;
    if (type === 'glassloom:alive') {
      this._liveness.hear(Date.now());
      this._showState();
    } else if (type === 'glassloom:lost') {
      this._liveness.lose(Date.now());
      this._tick();
    }
  };

  private _tick(): void {
    if (this._loadedId === null) {
      this._follow();
    }
    const isWaiting =
      this._hasEnded ||
      this._obstacle !== null ||
      this._loadedId === null ||
      this._isDue;
    if (
      !isWaiting &&
      this._liveness.tick(Date.now(), document.hidden) === 'probe'
    ) {
      void this._probe();
    }
    this._showState();
  }

  private async _probe(): Promise<void> {
    const liveness = this._liveness;
    const problem = await this._options.api.probeDashboards();
    if (this.isDisposed || liveness !== this._liveness) {
      return;
    }
    this._problem = problem;
    if (liveness.probed(problem === null, Date.now()) === 'reload') {
      this._load(true);
    }
    this._showState();
  }

  private _showState(): void {
    const state =
      this._obstacle ?? (this._hasEnded ? 'ended' : this._liveness.state);
    // A page that was alive to the end stays to be read; the note is put above it.
    const isBlank = this._liveness.state !== 'live';
    this.node.dataset.state = state;
    this.node.dataset.blank = String(isBlank);
    const words = this._wordsOf(state, isBlank);
    // Written only when it changes: screen readers read it each time.
    if (this._words.textContent !== words) {
      this._words.textContent = words;
    }
    const offered = this._offered(state);
    if (this._actionsFor !== offered.join()) {
      this._actionsFor = offered.join();
      this._actions.replaceChildren(
        ...offered.map(offer => this._buttonOf(offer))
      );
    }
  }

  private _wordsOf(state: State, isBlank: boolean): string {
    const { trans, resolver, stream } = this._options;
    switch (state) {
      case 'live':
        return '';
      case 'opening':
        return (
          resolver.problemOf(this._target) ?? trans.__('Opening the dashboard…')
        );
      case 'lost':
        return [trans.__('Reconnecting…'), this._problem ?? stream.problem]
          .join('\n')
          .trim();
      case 'ended': {
        const ending = this._endingWords();
        return isBlank
          ? ending
          : trans.__('%1 This is the last that was seen of it.', ending);
      }
      case 'missing':
        return stream.problem;
      case 'no-page':
        return trans.__(
          'There is no page “%1” in this version of Glassloom. Open another one from the list of dashboards in the Glassloom panel.',
          this.page
        );
    }
  }

  private _endingWords(): string {
    const { trans, resolver } = this._options;
    const target = this._target;
    const name = this._name;
    switch (target.kind) {
      case 'notebook':
        return this._wasListed
          ? trans.__(
              'Cluster %1 has ended. The next one of %2 will be shown here.',
              name,
              target.path
            )
          : trans.__(
              'The cluster of %1 does not run. It will be shown here when it does.',
              target.path
            );
      case 'active':
        return trans.__(
          'No cluster is running. The next one will be shown here.'
        );
      case 'recording':
        return (
          resolver.problemOf(target) ??
          trans.__('Recording %1 is not open any more.', name)
        );
      default:
        return isRecording(target.id)
          ? trans.__('Recording %1 is not open any more.', name)
          : name
            ? trans.__('Cluster %1 has ended.', name)
            : trans.__('This cluster has ended.');
    }
  }

  /** What a person can do about it. */
  private _offered(state: State): Offer[] {
    const { resolver, onFollowActive, onDiagnose, onShowPages } = this._options;
    if (state === 'no-page') {
      return onShowPages ? ['show-pages', 'close'] : ['close'];
    }
    if (state === 'lost') {
      return onDiagnose && !this._isRecording ? ['diagnose'] : [];
    }
    if (state !== 'ended' || this._target.kind !== 'cluster') {
      return [];
    }
    const canFollow =
      onFollowActive &&
      !this._isRecording &&
      resolver.resolve({ kind: 'active' }) !== null;
    return canFollow ? ['follow-active', 'close'] : ['close'];
  }

  private _buttonOf(offer: Offer): HTMLElement {
    const { trans, onFollowActive, onDiagnose, onShowPages } = this._options;
    switch (offer) {
      case 'follow-active':
        return button(trans.__('Show the active cluster'), offer, () =>
          onFollowActive?.(this)
        );
      case 'diagnose':
        return button(trans.__('Find the fault'), offer, () =>
          onDiagnose?.(this._loadedId)
        );
      case 'show-pages':
        return button(trans.__('Show the list'), offer, () => onShowPages?.());
      case 'close':
        return button(trans.__('Close'), offer, () => this.close());
    }
  }

  private get _isRecording(): boolean {
    return (
      this._target.kind === 'recording' ||
      (this._target.kind === 'cluster' && isRecording(this._target.id))
    );
  }

  private readonly _frame: HTMLIFrameElement;
  private readonly _cover: HTMLElement;
  private readonly _words: HTMLElement;
  private readonly _actions: HTMLElement;
  private readonly _timer: number;
  private _actionsFor = '';
  private _connection: Connection | null = null;
  private _target: PaneTarget;
  private _liveness: Liveness;
  private _madeAtMs = Date.now();
  /** Whether the list was there before the pane: what the pane is of may be newer. A restored pane is older than the list. */
  private _isMadeNow: boolean;
  private _theme: Theme;
  private _name: string;
  /** What the target is now, as the server last said. */
  private _shown: IShown | null = null;
  /** Whose page the frame holds. */
  private _loadedId: string | null = null;
  /** Whether the frame is to be loaded when somebody can see it. */
  private _isDue = false;
  private _wasListed = false;
  /** Whether the server has told what there is. */
  private _hasSeenList = false;
  /** What the page opens, such as the id of a run. */
  private _opened: string | null;
  /** Why the dashboards don't answer, if they don't. */
  private _problem: string | null = null;
}

function button(
  label: string,
  action: string,
  onClick: () => void
): HTMLButtonElement {
  const made = document.createElement('button');
  made.className = 'jp-mod-styled';
  made.dataset.action = action;
  made.textContent = label;
  made.addEventListener('click', onClick);
  return made;
}

function typeOf(data: unknown): unknown {
  return typeof data === 'object' && data !== null && 'type' in data
    ? data.type
    : undefined;
}
