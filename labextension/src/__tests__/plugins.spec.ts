/**
 * The plugins themselves, in an application that is JupyterLab's but for its shell.
 */
import { Notification } from '@jupyterlab/apputils';
import { ISettingRegistry } from '@jupyterlab/settingregistry';
import { CommandIDs } from '../commands';
import { DashboardPane } from '../panels/pane';
import { dashboardsPlugin } from '../plugins/dashboards';
import { exportsPlugin } from '../plugins/exports';
import { recordingsPlugin } from '../plugins/recordings';
import { loadSettings } from '../plugins/settings';
import { IDashboards } from '../tokens';
import {
  FakeSocket,
  IModels,
  json,
  makeCluster,
  makeExport,
  makeModels,
  settle,
  trans
} from './fakes';
import {
  API,
  IFakeApp,
  activateDashboards,
  makeApp,
  openTabs
} from './fakeApp';

beforeAll(() => {
  window.matchMedia = (() => new EventTarget()) as never;
});

describe('Dashboards', () => {
  function open(
    clusters: Parameters<typeof FakeSocket.last.tell>
  ): [IFakeApp, IModels, (args: object) => Promise<DashboardPane>] {
    const models = makeModels();
    const app = makeApp(models);
    activateDashboards(app, models);
    FakeSocket.last.tell(...clusters);
    return [
      app,
      models,
      async args => {
        await app.commands.execute(CommandIDs.openDashboard, args as never);
        return app.added.at(-1)?.[0] as DashboardPane;
      }
    ];
  }

  it('of a notebook’s cluster follow the notebook, also when it is renamed, but keep a cluster that runs', async () => {
    const [app, models, openPane] = open([
      makeCluster({ notebook: 'a.ipynb' })
    ]);
    const pane = await openPane({ cluster: 'c1', page: 'memory' });
    expect(pane.target).toEqual({ kind: 'notebook', path: 'a.ipynb' });
    const rename = {
      type: 'rename' as const,
      oldValue: { path: 'a.ipynb' },
      newValue: { path: 'b.ipynb' }
    };
    app.renamed.emit(rename);
    expect(pane.target).toEqual({ kind: 'notebook', path: 'a.ipynb' });
    FakeSocket.last.tell();
    app.renamed.emit(rename);
    expect(pane.target).toEqual({ kind: 'notebook', path: 'b.ipynb' });
    pane.dispose();
    models.dispose();
  });

  it('come back from what a workspace saved', async () => {
    const [, models, openPane] = open([]);
    const pane = await openPane({
      target: { kind: 'notebook', path: 'a.ipynb' },
      page: 'memory',
      name: 'loom',
      pageTitle: 'Memory'
    });
    expect(pane.title.label).toBe('Memory · loom');
    pane.dispose();
    models.dispose();
  });

  it('are opened once: asked for again, the pane that is there is shown', async () => {
    const [app, models, openPane] = open([makeCluster()]);
    const pane = await openPane({ cluster: 'c1' });
    await openPane({ cluster: 'c1' });
    expect(app.added.length).toBe(1);
    pane.dispose();
    models.dispose();
  });

  it('of a cluster that has not come yet wait for it; of a name that is none there are none', async () => {
    const tell = jest.spyOn(Notification, 'info').mockReturnValue('');
    const [app, models, openPane] = open([]);
    const pane = await openPane({ cluster: 'c77' });
    expect(pane.target).toEqual({ kind: 'cluster', id: 'c77' });
    await openPane({ cluster: '../../../evil' });
    await openPane({});
    expect(app.added.length).toBe(1);
    expect(tell).toHaveBeenCalledTimes(2);
    tell.mockRestore();
    pane.dispose();
    models.dispose();
  });

  it('open in a browser tab where there are no panes, as in Notebook 7', async () => {
    const models = makeModels();
    const app = makeApp(models);
    const { stream, clusters, recordings, pages } = models;
    const none = [null, null, null, null, null, null];
    void dashboardsPlugin.activate(
      app,
      stream,
      clusters,
      recordings,
      pages,
      ...none
    );
    FakeSocket.last.tell(makeCluster());
    const [tab, opened] = openTabs();
    const execute = (args: object): Promise<unknown> =>
      app.commands.execute(CommandIDs.openDashboard, { ...args });
    const base = 'http://localhost/user/someone/glassloom/dash/c1';
    await execute({ page: 'memory' });
    await execute({ page: 'runs', run: 3 });
    await execute({ page: 'runs', run: '3&x=y' });
    expect(opened).toEqual(
      ['memory?theme=light', 'runs?theme=light&open=3', 'runs?theme=light'].map(
        page => `${base}/${page}`
      )
    );
    expect(app.added).toEqual([]);
    tab.mockRestore();
    models.dispose();
  });

  it('stand as their layout says', async () => {
    const models = makeModels();
    const app = makeApp(models);
    const { preferences } = activateDashboards(app, models);
    FakeSocket.last.tell(makeCluster());
    await preferences.saveLayout({
      name: 'mine',
      arrangement: {
        split: 'vertical',
        areas: [{ pages: ['status', 'logs'] }, { pages: ['memory'] }]
      }
    });
    await app.commands.execute(CommandIDs.openLayout, { name: 'mine' });
    expect(
      app.added.map(([widget, , options]) => [widget.id, options])
    ).toEqual([
      ['glassloom-c1-status', { mode: 'split-right', ref: undefined }],
      [
        'glassloom-c1-memory',
        { mode: 'split-bottom', ref: 'glassloom-c1-status' }
      ],
      ['glassloom-c1-logs', { mode: 'tab-after', ref: 'glassloom-c1-status' }]
    ]);
    app.added.forEach(([widget]) => widget.dispose());
    models.dispose();
  });
});

describe('Recordings', () => {
  it('are documents whose bytes JupyterLab does not ask for', () => {
    const models = makeModels();
    const app = makeApp(models);
    const { stream, clusters, recordings, pages } = models;
    const none = [null, null, null];
    void recordingsPlugin.activate(
      app,
      stream,
      clusters,
      recordings,
      pages,
      ...none
    );
    const factory = app.docRegistry.defaultWidgetFactory('runs/x.glr');
    expect(factory.name).toBe('Glassloom replay');
    const model = app.docRegistry.getModelFactory(factory.modelName as string);
    expect(model?.fileFormat).toBeNull();
    models.dispose();
  });
});

describe('Settings that are not valid', () => {
  it('are told of, and the defaults are used', async () => {
    const tell = jest.spyOn(Notification, 'warning').mockReturnValue('');
    const registry = {
      load: () => Promise.reject(new Error('open must be a string'))
    } as unknown as ISettingRegistry;
    const read: unknown[] = [];
    const settings = await loadSettings(
      registry,
      'glassloom:cellStrip',
      trans,
      composite => read.push(composite)
    );
    expect(settings).toBeNull();
    expect(read).toEqual([{}]);
    expect(tell.mock.calls[0][0]).toBe(
      'The settings of glassloom:cellStrip are not valid, its defaults are used: open must be a string'
    );
    tell.mockRestore();
  });
});

describe('What pages will need', () => {
  const health = 'GET /user/someone/glassloom/dash/health';
  const prefetched = (): string[] =>
    Array.from(
      document.querySelectorAll<HTMLLinkElement>('link[rel="prefetch"]'),
      ({ href }) => href
    );

  afterEach(() => {
    document.head.replaceChildren();
  });

  it('is asked for when a page is likely to be opened, once, and of this origin alone', async () => {
    const path = '/user/someone/glassloom/dash/static/js/bokeh.min.js?v=1';
    const scripts = [path, path, 'https://elsewhere.example/a.js'];
    const models = makeModels({ [health]: json({ status: 'ok', scripts }) });
    const dashboards = activateDashboards(makeApp(models), models);
    dashboards.warmUp();
    dashboards.warmUp();
    await settle();
    expect(prefetched()).toEqual([`http://localhost${path}`]);
    const asked = models.calls.filter(call => call.path.endsWith('/health'));
    expect(asked).toHaveLength(1);
  });

  it.each([
    ['does not say', json({ status: 'ok' })],
    ['does not start', json({ message: 'no bokeh today' }, 503)],
    ['is none of ours', () => new Response('Login')]
  ])('is left alone where the process %s', async (_, answer) => {
    const models = makeModels({ [health]: answer });
    activateDashboards(makeApp(models), models).warmUp();
    await settle();
    expect(prefetched()).toEqual([]);
  });
});

describe('Where panes have no place, as in Notebook 7', () => {
  it('a page opens in a browser tab, also of a cluster that is not listed yet', async () => {
    const [open, opened] = openTabs();
    const tell = jest.spyOn(Notification, 'info').mockReturnValue('');
    const models = makeModels();
    const app = makeApp(models);
    activateDashboards(app, models, null);
    await app.commands.execute(CommandIDs.openDashboard, { cluster: 'c7' });
    expect(opened).toEqual([
      'http://localhost/user/someone/glassloom/dash/c7/status?theme=light'
    ]);
    await app.commands.execute(CommandIDs.openDashboard, {
      target: { kind: 'notebook', path: 'a.ipynb' }
    });
    expect(opened.length).toBe(1);
    expect(tell.mock.calls[0][0]).toBe(
      'No cluster of a.ipynb is running: there is nothing to show.'
    );
    open.mockRestore();
    tell.mockRestore();
    models.dispose();
  });
});

describe('A layout where panes have no place', () => {
  it('opens what the browser lets it, and says and offers the rest', async () => {
    const tell = jest.spyOn(Notification, 'warning').mockReturnValue('');
    const [open, opened] = openTabs(1);
    const models = makeModels();
    const app = makeApp(models);
    const { stream, clusters, recordings, pages } = models;
    const none = [null, null, null, null, null, null];
    const { preferences } = dashboardsPlugin.activate(
      app,
      stream,
      clusters,
      recordings,
      pages,
      ...none
    ) as IDashboards;
    FakeSocket.last.tell(makeCluster());
    const arrangement = { pages: ['status', 'logs', 'memory'] };
    await preferences.saveLayout({ name: 'mine', arrangement });
    await app.commands.execute(CommandIDs.openLayout, { name: 'mine' });
    const base = 'http://localhost/user/someone/glassloom/dash/c1';
    expect(opened).toEqual([`${base}/status?theme=light`]);
    const [words, options] = tell.mock.calls[0];
    expect(words).toBe(
      'There is no place for a layout here: its dashboards open in browser tabs. The browser has blocked these tabs: logs, memory. Allow pop-ups for this site, or open them one by one.'
    );
    open.mockRestore();
    const [again, openedThen] = openTabs();
    options?.actions?.[1].callback({} as never);
    expect(openedThen).toEqual([`${base}/memory?theme=light`]);
    again.mockRestore();
    tell.mockRestore();
    models.dispose();
  });
});

describe('Exports', () => {
  it('are asked for, and their end is told once with what can be done then', async () => {
    const tell = jest.spyOn(Notification, 'success').mockReturnValue('');
    const models = makeModels({
      [`POST ${API}/clusters/c1/export`]: json({ id: 'e1' }, 202)
    });
    const app = makeApp(models);
    const { clusters, recordings, exported } = models;
    void exportsPlugin.activate(
      app,
      clusters,
      recordings,
      exported,
      null,
      null
    );
    const socket = FakeSocket.last;
    socket.tellState({
      clusters: [makeCluster()],
      exports: [makeExport({ id: 'of old', state: 'done' })]
    });
    await app.commands.execute(CommandIDs.export, {
      cluster: 'c1',
      to: 'report'
    });
    const asked = models.calls.find(({ method }) => method === 'POST');
    expect(asked?.body).toBe('{"to":"report"}');
    const made = { to: 'report' as const, name: 'loom', cluster: 'c1' };
    socket.tellChanges({ exports: [makeExport(made)] });
    expect(tell).not.toHaveBeenCalled();
    const done = { ...made, state: 'done' as const, output: 'loom.html' };
    socket.tellChanges({ exports: [makeExport(done)] });
    socket.tellChanges({ exports: [makeExport(done)] });
    expect(tell).toHaveBeenCalledTimes(1);
    const [words, options] = tell.mock.calls[0];
    expect(words).toBe('HTML Report of loom is done: loom.html');
    expect(options?.actions?.map(({ label }) => label)).toEqual([
      'Open',
      'Download'
    ]);
    tell.mockRestore();
    models.dispose();
  });
});
