/**
 * All dashboard panes: makes them, puts them into the shell, and keeps them in step with themes and renamed files.
 */
import { ILabShell, JupyterFrontEnd } from '@jupyterlab/application';
import {
  IThemeManager,
  Notification,
  WidgetTracker
} from '@jupyterlab/apputils';
import { TranslationBundle } from '@jupyterlab/translation';
import { CommandIDs } from '../commands';
import { Mode } from '../model/layouts';
import { Resolver } from '../model/resolver';
import { renamed } from '../model/targets';
import { themeOf } from '../model/theme';
import { DashboardPane } from '../panels/pane';
import { GlassloomAPI, Theme } from '../request';
import { IPages, IStateStream, PaneTarget } from '../tokens';
import { ITab, openTabs } from './tabs';

const MORE_CONTRAST = '(prefers-contrast: more)';

/** Which page of what, and how a person calls both. */
export interface IWhich {
  target: PaneTarget;
  page: string;
  name: string;
  pageTitle: string;
  /** What to open in the page: the id of a run. */
  opened?: string | null;
}

export interface IPlace {
  mode: Mode;
  ref: string | null;
  /** Whether a pane that is open elsewhere moves there. */
  moves?: boolean;
}

export interface IPanesOptions {
  app: JupyterFrontEnd;
  /** Null where panes have no place, such as in Notebook 7: pages open in browser tabs there. */
  labShell: ILabShell | null;
  api: GlassloomAPI;
  stream: IStateStream;
  pages: IPages;
  resolver: Resolver;
  trans: TranslationBundle;
  themes: IThemeManager | null;
}

export class Panes {
  constructor(private readonly _options: IPanesOptions) {
    const { app, themes } = _options;
    const followTheme = (): void => {
      this.tracker.forEach(pane => pane.setTheme(currentTheme(themes)));
    };
    themes?.themeChanged.connect(followTheme);
    window.matchMedia(MORE_CONTRAST).addEventListener('change', followTheme);
    app.serviceManager.contents.fileChanged.connect((_, change) => {
      const { type, oldValue, newValue } = change;
      if (type === 'rename' && oldValue?.path && newValue?.path) {
        this._follow(oldValue.path, newValue.path);
      }
    });
  }

  readonly tracker = new WidgetTracker<DashboardPane>({
    namespace: 'glassloom-dashboards'
  });

  /** How a target is called at the moment, or null if it isn't there. */
  nameOf(target: PaneTarget): string | null {
    return this._options.resolver.resolve(target)?.name ?? null;
  }

  find(target: PaneTarget, page: string): DashboardPane | undefined {
    const id = DashboardPane.idOf(target, page);
    return this.tracker.find(pane => pane.id === id);
  }

  /** Return the pane of a page, made if there is none, to be put somewhere. */
  take(which: IWhich): DashboardPane {
    return this.find(which.target, which.page) ?? this._make(which);
  }

  /** Show a page: the pane that there is, else a new one, or a browser tab where there is no place for panes. */
  open(which: IWhich, place?: IPlace): void {
    const { labShell } = this._options;
    const opened = which.opened ?? null;
    if (labShell === null) {
      this.openTabs([which]);
      return;
    }
    const former = this.find(which.target, which.page);
    const pane = former ?? this._make(which);
    if (!pane.isAttached || place?.moves === true) {
      labShell.add(pane, 'main', this._placeOf(place));
    }
    if (former !== undefined && opened !== null) {
      former.openInPage(opened);
    }
    labShell.activateById(pane.id);
  }

  /** Make a pane that is not put anywhere and not restored: whoever asks for it does that. */
  make(which: IWhich): DashboardPane {
    const { app, themes } = this._options;
    return new DashboardPane({
      ...this._options,
      ...which,
      theme: currentTheme(themes),
      onFollowActive: pane => {
        if (this.find({ kind: 'active' }, pane.page)) {
          this.open({ ...which, target: { kind: 'active' } });
          pane.dispose();
        } else {
          pane.setTarget({ kind: 'active' });
          void this.tracker.save(pane);
        }
      },
      onDiagnose: cluster =>
        void app.commands.execute(
          CommandIDs.diagnose,
          cluster === null ? {} : { cluster }
        ),
      onShowPages: app.commands.hasCommand(CommandIDs.showPanel)
        ? () => void app.commands.execute(CommandIDs.showPanel)
        : undefined
    });
  }

  private _make(which: IWhich): DashboardPane {
    const pane = this.make(which);
    void this.tracker.add(pane);
    pane.title.changed.connect(() => {
      if (!pane.isDisposed) {
        void this.tracker.save(pane);
      }
    });
    return pane;
  }

  /** Show pages in browser tabs. */
  openTabs(all: readonly IWhich[], why = ''): void {
    const { trans } = this._options;
    const tabs = all.map(which => this._tabOf(which));
    openTabs(
      trans,
      tabs.filter(tab => tab !== null),
      why
    );
    const missing = all.find((_, index) => tabs[index] === null);
    if (missing !== undefined) {
      const { target, name } = missing;
      const what = target.kind === 'notebook' ? target.path : name;
      Notification.info(
        trans.__(
          'No cluster of %1 is running: there is nothing to show.',
          what
        ),
        { autoClose: 5000 }
      );
    }
  }

  /** Return where a page is; null if what it is of isn't there. */
  private _tabOf({ target, page, pageTitle, opened }: IWhich): ITab | null {
    const { api, themes, resolver } = this._options;
    const known = resolver.resolve(target)?.id;
    // A cluster that has only just started isn't in the list yet; the page itself says if there is none.
    const id = known ?? (target.kind === 'cluster' ? target.id : null);
    return id === null
      ? null
      : {
          url: api.dashboardUrl(id, page, currentTheme(themes), opened),
          name: pageTitle
        };
  }

  /** A new pane goes where the panes are already, else beside the notebook. */
  private _placeOf(place?: IPlace): { mode: Mode; ref?: string } {
    if (place !== undefined) {
      return { mode: place.mode, ref: place.ref ?? undefined };
    }
    const ref = this.tracker.find(other => other.isAttached)?.id;
    return { mode: ref === undefined ? 'split-right' : 'tab-after', ref };
  }

  /** A notebook or recording was renamed: its panes go with it. */
  private _follow(from: string, to: string): void {
    this.tracker.forEach(pane => {
      const target = renamed(pane.target, from, to);
      // A cluster that runs goes on under the path that its notebook had when its kernel started.
      const isKept =
        pane.target.kind === 'notebook' && this.nameOf(pane.target) !== null;
      if (target !== pane.target && !isKept) {
        pane.setTarget(target);
        void this.tracker.save(pane);
      }
    });
  }
}

export function currentTheme(themes: IThemeManager | null): Theme {
  const name = themes?.theme ?? null;
  const isLight = name === null || themes?.isLight(name) !== false;
  return themeOf(name, isLight, window.matchMedia(MORE_CONTRAST).matches);
}
