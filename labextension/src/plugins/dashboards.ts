/**
 * Opens dashboard pages as panes, alone and in layouts; panes come back with the workspace.
 */
import {
  ILabShell,
  ILayoutRestorer,
  JupyterFrontEnd,
  JupyterFrontEndPlugin
} from '@jupyterlab/application';
import {
  ICommandPalette,
  IThemeManager,
  Notification
} from '@jupyterlab/apputils';
import { PathExt } from '@jupyterlab/coreutils';
import { ISettingRegistry } from '@jupyterlab/settingregistry';
import { ITranslator, TranslationBundle } from '@jupyterlab/translation';
import { ReadonlyPartialJSONObject } from '@lumino/coreutils';
import { CommandIDs, PALETTE_CATEGORY } from '../commands';
import { glassloomIcon } from '../icons';
import { Mode } from '../model/layouts';
import { Preferences } from '../model/preferences';
import { Resolver } from '../model/resolver';
import { isSafeName, lastingTarget, targetOf } from '../model/targets';
import { DashboardPane } from '../panels/pane';
import { GlassloomAPI } from '../request';
import {
  IClusters,
  IDashboards,
  IPages,
  IRecordings,
  IStateStream,
  PaneTarget
} from '../tokens';
import { addLayoutCommands } from './layouts';
import { underMenu } from './underMenu';
import { IWhich, Panes } from './panes';
import { languageOf } from './language';
import { prefetchScripts } from './prefetch';
import { loadSettings } from './settings';

const PLUGIN_ID = 'glassloom:dashboards';
const DEFAULT_PAGE = 'status';
/** For how long a dashboards process that was asked for is taken to run. */
const WARM_MS = 30_000;

export const dashboardsPlugin: JupyterFrontEndPlugin<IDashboards> = {
  id: PLUGIN_ID,
  description: 'Opens dashboards as panes.',
  autoStart: true,
  requires: [IStateStream, IClusters, IRecordings, IPages],
  optional: [
    ITranslator,
    ICommandPalette,
    ILayoutRestorer,
    IThemeManager,
    ISettingRegistry,
    ILabShell
  ],
  provides: IDashboards,
  activate: (
    app: JupyterFrontEnd,
    stream: IStateStream,
    clusters: IClusters,
    recordings: IRecordings,
    pages: IPages,
    translator: ITranslator | null,
    palette: ICommandPalette | null,
    restorer: ILayoutRestorer | null,
    themes: IThemeManager | null,
    settings: ISettingRegistry | null,
    labShell: ILabShell | null
  ): IDashboards => {
    const trans = languageOf(translator);
    const preferences = new Preferences(read =>
      loadSettings(settings, PLUGIN_ID, trans, read)
    );
    const api = new GlassloomAPI(app.serviceManager.serverSettings, trans);
    let warmedAtMs = -Infinity;
    const panes = new Panes({
      app,
      labShell,
      api,
      stream,
      pages,
      resolver: new Resolver(clusters, recordings),
      trans,
      themes
    });
    const activeTarget = (): PaneTarget | null => {
      const { active } = clusters;
      return active === null
        ? null
        : preferences.followsActive
          ? { kind: 'active' }
          : lastingTarget(active, clusters.all);
    };
    const whichOf = (args: ReadonlyPartialJSONObject): IWhich | null =>
      which(args, clusters, pages, panes, activeTarget);

    addOpenDashboard(app, trans, panes, whichOf);
    addFollowActive(app, trans, preferences);
    addToggleFavourite(app, trans, preferences);
    addLayoutCommands({
      app,
      labShell,
      trans,
      panes,
      pages,
      preferences,
      activeTarget
    });
    void restorer?.restore(panes.tracker, {
      command: CommandIDs.openDashboard,
      args: ({ target, page, name, pageTitle }) => ({
        target,
        page,
        name,
        pageTitle
      }),
      name: ({ id }) => id
    });
    addToPalette(trans, pages, palette);
    return {
      preferences,
      makePane: page => {
        const target = activeTarget();
        return target === null
          ? null
          : panes.take(whichOf({ page, target: { ...target } }) as IWhich);
      },
      warmUp: () => {
        if (Date.now() - warmedAtMs > WARM_MS) {
          warmedAtMs = Date.now();
          // Where it does not start, the page that is opened says why.
          void api.warmUpDashboards().then(prefetchScripts, () => undefined);
        }
      }
    };
  }
};

/** Return which page of what the arguments ask for; null if that is a cluster and there is none. */
function which(
  args: ReadonlyPartialJSONObject,
  clusters: IClusters,
  pages: IPages,
  panes: Panes,
  activeTarget: () => PaneTarget | null
): IWhich | null {
  const page = args.page ?? DEFAULT_PAGE;
  let target = targetOf(args.target);
  if (target === null && args.cluster !== undefined) {
    const { cluster: id } = args;
    const cluster = isSafeName(id) ? clusters.find(id) : null;
    // A cluster that has only just started isn't in the list yet.
    target =
      cluster === null
        ? targetOf({ kind: 'cluster', id })
        : lastingTarget(cluster, clusters.all);
  } else {
    target ??= activeTarget();
  }
  if (target === null || !isSafeName(page)) {
    return null;
  }
  return {
    target,
    page,
    name: panes.nameOf(target) ?? textOf(args.name) ?? fileNameOf(target),
    pageTitle: pages.find(page)?.title ?? textOf(args.pageTitle) ?? page,
    opened: runOf(args.run)
  };
}

/** How the file of a target is called, for as long as nothing better is known of it. */
function fileNameOf(target: PaneTarget): string {
  return 'path' in target ? PathExt.basename(target.path) : '';
}

/** The id of a run, which the server tells as text and a kernel as a number, or of two that are compared. */
function runOf(value: unknown): string | null {
  return /^\d+(,\d+)?$/.test(String(value)) ? String(value) : null;
}

function addOpenDashboard(
  app: JupyterFrontEnd,
  trans: TranslationBundle,
  panes: Panes,
  whichOf: (args: ReadonlyPartialJSONObject) => IWhich | null
): void {
  app.commands.addCommand(CommandIDs.openDashboard, {
    label: args => textOf(args.label) ?? labelOf(trans, args.mode),
    caption: trans.__('Open a dashboard page of a cluster beside the notebook'),
    icon: args => (args.isPalette ? undefined : glassloomIcon),
    describedBy: {
      args: {
        type: 'object',
        properties: {
          cluster: {
            type: 'string',
            description: 'Id of the cluster; the active one by default.'
          },
          page: {
            type: 'string',
            description: `Id of the page; ${DEFAULT_PAGE} by default.`
          },
          run: {
            type: 'string',
            description:
              'Id of a run that the page of runs opens; of two, with a comma between them, that it compares.'
          },
          mode: {
            type: 'string',
            enum: ['split-right', 'split-bottom', 'tab-after', 'browser-tab'],
            description:
              'Where it is put; with the other dashboards, or beside the notebook, by default.'
          },
          beside: {
            type: 'object',
            description:
              'Arguments of this command for a dashboard that is open: it is put beside that one.'
          },
          target: {
            type: 'object',
            description:
              'What the pane follows: {"kind": "cluster", "id"}, {"kind": "notebook", "path"}, {"kind": "active"} or {"kind": "recording", "path"}.'
          }
        }
      }
    },
    execute: args => {
      const under = args.isContextMenu === true ? underMenu(app) : {};
      const { cluster = args.cluster, page = args.page } = under;
      const found = whichOf({ ...args, cluster, page });
      if (found === null) {
        Notification.info(
          trans.__(
            'No cluster is running. Run Client() in a notebook, or start one in the Glassloom panel.'
          ),
          { autoClose: 5000 }
        );
        return;
      }
      const beside = whichOf((args.beside ?? {}) as ReadonlyPartialJSONObject);
      if (args.mode === 'browser-tab') {
        panes.openTabs([found]);
      } else if (isMode(args.mode)) {
        const ref =
          args.beside === undefined || beside === null
            ? null
            : DashboardPane.idOf(beside.target, beside.page);
        panes.open(found, { mode: args.mode, ref, moves: true });
      } else {
        panes.open(found);
      }
    }
  });
}

function labelOf(trans: TranslationBundle, mode: unknown): string {
  switch (mode) {
    case 'split-right':
      return trans.__('Open to the Side');
    case 'browser-tab':
      return trans.__('Open in a Browser Tab');
    default:
      return trans.__('Open Dashboard');
  }
}

function isMode(value: unknown): value is Mode {
  return ['split-right', 'split-bottom', 'tab-after'].includes(value as Mode);
}

/** The star of a page, for its context menu. */
function addToggleFavourite(
  app: JupyterFrontEnd,
  trans: TranslationBundle,
  preferences: Preferences
): void {
  const pageOf = (args: ReadonlyPartialJSONObject): string =>
    String(args.isContextMenu === true ? underMenu(app).page : args.page);
  app.commands.addCommand(CommandIDs.toggleFavourite, {
    label: args =>
      preferences.favourites.includes(pageOf(args))
        ? trans.__('Remove from the Favourites')
        : trans.__('Add to the Favourites'),
    describedBy: {
      args: {
        type: 'object',
        properties: {
          page: { type: 'string', description: 'Id of the page.' }
        }
      }
    },
    execute: args => preferences.toggleFavourite(pageOf(args))
  });
}

function addFollowActive(
  app: JupyterFrontEnd,
  trans: TranslationBundle,
  preferences: Preferences
): void {
  app.commands.addCommand(CommandIDs.followActive, {
    label: trans.__('New Dashboards Follow the Active Cluster'),
    caption: trans.__(
      'Dashboards that are opened from now on show whatever cluster is the active one'
    ),
    isToggleable: true,
    isToggled: () => preferences.followsActive,
    describedBy: { args: { type: 'object', properties: {} } },
    execute: () => preferences.setFollowsActive(!preferences.followsActive)
  });
  preferences.changed.connect(() =>
    app.commands.notifyCommandChanged(CommandIDs.followActive)
  );
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

/** The pages come from the server: their palette entries are added once they are known. */
function addToPalette(
  trans: TranslationBundle,
  pages: IPages,
  palette: ICommandPalette | null
): void {
  for (const command of [
    CommandIDs.saveLayout,
    CommandIDs.closeDashboards,
    CommandIDs.followActive
  ]) {
    palette?.addItem({ command, category: PALETTE_CATEGORY });
  }
  const known = new Set<string>();
  const add = (): void => {
    for (const { id, title } of pages.all) {
      if (!known.has(id)) {
        known.add(id);
        palette?.addItem({
          command: CommandIDs.openDashboard,
          category: PALETTE_CATEGORY,
          args: {
            page: id,
            label: trans.__('Open Dashboard: %1', title),
            isPalette: true
          }
        });
      }
    }
  };
  pages.changed.connect(add);
  add();
}
