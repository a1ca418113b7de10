/**
 * An application that is JupyterLab's but for its shell, for the tests of plugins.
 */
import { JupyterFrontEnd } from '@jupyterlab/application';
import { DocumentRegistry } from '@jupyterlab/docregistry';
import { CommandRegistry } from '@lumino/commands';
import { Signal } from '@lumino/signaling';
import { Widget } from '@lumino/widgets';
import { dashboardsPlugin } from '../plugins/dashboards';
import { IDashboards } from '../tokens';
import { IModels } from './fakes';

export const API = '/user/someone/glassloom/api';
export const POOL = {
  id: 'pool',
  name: 'threads-7',
  kind: 'threads',
  workers: 0,
  threads: 3,
  can: []
};

export interface IFakeApp extends JupyterFrontEnd {
  added: [Widget, string, object][];
  renamed: Signal<object, object>;
}

export function makeApp(models: IModels): IFakeApp {
  const added: [Widget, string, object][] = [];
  const owner = {};
  const renamed = new Signal<object, object>(owner);
  return {
    added,
    renamed,
    commands: new CommandRegistry(),
    shell: {
      add: (widget: Widget, area: string, options: object) => {
        added.push([widget, area, options]);
        Widget.attach(widget, document.body);
      },
      activateById: () => undefined
    },
    docRegistry: new DocumentRegistry(),
    contextMenuHitTest: () => undefined,
    serviceManager: {
      serverSettings: models.api.settings,
      contents: { fileChanged: renamed }
    }
  } as unknown as IFakeApp;
}

export function activateDashboards(
  app: IFakeApp,
  models: IModels,
  shell: JupyterFrontEnd.IShell | null = app.shell
): IDashboards {
  const { stream, clusters, recordings, pages } = models;
  return dashboardsPlugin.activate(
    app,
    stream,
    clusters,
    recordings,
    pages,
    null,
    null,
    null,
    null,
    null,
    shell as never
  ) as IDashboards;
}

/** Let the browser open so many tabs and block the others; return where those that it opens go. */
export function openTabs(most = Infinity): [jest.SpyInstance, string[]] {
  const opened: string[] = [];
  const open = jest.spyOn(window, 'open').mockImplementation(() => {
    const location = { replace: (url: string) => opened.push(url) };
    return opened.length < most ? ({ location } as never) : null;
  });
  return [open, opened];
}
