/**
 * The command that opens a dashboard page as a pane; panes come back with the layout.
 */
import {
  ILayoutRestorer,
  JupyterFrontEnd,
  JupyterFrontEndPlugin
} from '@jupyterlab/application';
import {
  ICommandPalette,
  IThemeManager,
  Notification,
  WidgetTracker
} from '@jupyterlab/apputils';
import { CommandIDs, PALETTE_CATEGORY } from '../commands';
import { glassloomIcon } from '../icons';
import { themeOf } from '../model/theme';
import { DashboardPane } from '../panels/pane';
import { GlassloomAPI, Theme } from '../request';
import { IClusterModel } from '../tokens';

const DEFAULT_PAGE = 'status';
const MORE_CONTRAST = '(prefers-contrast: more)';
// Ids and page names become parts of a path, and reprs are free to ask for anything.
const SAFE_NAME = /^[\w-]+$/;

export const dashboardsPlugin: JupyterFrontEndPlugin<void> = {
  id: 'glassloom:dashboards',
  description: 'Opens dashboards as panes.',
  autoStart: true,
  requires: [IClusterModel],
  optional: [ICommandPalette, ILayoutRestorer, IThemeManager],
  activate: (
    app: JupyterFrontEnd,
    model: IClusterModel,
    palette: ICommandPalette | null,
    restorer: ILayoutRestorer | null,
    themes: IThemeManager | null
  ): void => {
    const api = new GlassloomAPI(app.serviceManager.serverSettings);
    const tracker = new WidgetTracker<DashboardPane>({
      namespace: 'glassloom-dashboards'
    });

    const open = (which: IWhich): void => {
      const id = DashboardPane.idOf(which.cluster, which.page);
      if (!tracker.find(pane => pane.id === id)) {
        const theme = currentTheme(themes);
        const pane = new DashboardPane({ api, model, theme, ...which });
        // A new pane goes where the panes are already, else beside the notebook.
        const ref = tracker.find(other => other.isAttached)?.id;
        void tracker.add(pane);
        pane.title.changed.connect(() => void tracker.save(pane));
        const mode = ref === undefined ? 'split-right' : 'tab-after';
        app.shell.add(pane, 'main', { mode, ref });
      }
      app.shell.activateById(id);
    };

    app.commands.addCommand(CommandIDs.openDashboard, {
      label: args => textOf(args.label) ?? 'Open Dashboard',
      caption: 'Open a dashboard page of a cluster beside the notebook',
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
            }
          }
        }
      },
      execute: args => {
        const cluster = args.cluster ?? model.active?.id;
        const page = args.page ?? DEFAULT_PAGE;
        if (!isSafeName(cluster) || !isSafeName(page)) {
          Notification.info(
            'No cluster is running. Run Client() in a notebook, or start one in the Glassloom panel.',
            { autoClose: 5000 }
          );
          return;
        }
        open({
          cluster,
          page,
          name: model.nameOf(cluster) ?? textOf(args.name) ?? cluster,
          pageTitle:
            model.pages.find(({ id }) => id === page)?.title ??
            textOf(args.pageTitle) ??
            page
        });
      }
    });

    void restorer?.restore(tracker, {
      command: CommandIDs.openDashboard,
      args: ({ cluster, page, name, pageTitle }) => ({
        cluster,
        page,
        name,
        pageTitle
      }),
      name: ({ id }) => id
    });
    const followTheme = (): void => {
      tracker.forEach(pane => pane.setTheme(currentTheme(themes)));
    };
    themes?.themeChanged.connect(followTheme);
    window.matchMedia(MORE_CONTRAST).addEventListener('change', followTheme);
    addPagesToPalette(model, palette);
  }
};

/** Which page of which cluster, and how a person calls both. */
interface IWhich {
  cluster: string;
  page: string;
  name: string;
  pageTitle: string;
}

function isSafeName(value: unknown): value is string {
  return typeof value === 'string' && SAFE_NAME.test(value);
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

function currentTheme(themes: IThemeManager | null): Theme {
  const name = themes?.theme ?? null;
  const isLight = name === null || themes?.isLight(name) !== false;
  return themeOf(name, isLight, window.matchMedia(MORE_CONTRAST).matches);
}

/** The pages come from the server: their palette entries are added once they are known. */
function addPagesToPalette(
  model: IClusterModel,
  palette: ICommandPalette | null
): void {
  const add = (): void => {
    if (model.pages.length === 0) {
      return;
    }
    model.changed.disconnect(add);
    for (const { id, title } of model.pages) {
      palette?.addItem({
        command: CommandIDs.openDashboard,
        category: PALETTE_CATEGORY,
        args: { page: id, label: `Open Dashboard: ${title}`, isPalette: true }
      });
    }
  };
  model.changed.connect(add);
  add();
}
