/**
 * The plugins themselves, in an application that is JupyterLab's but for its shell.
 */
import { JupyterFrontEnd } from '@jupyterlab/application';
import { Notification } from '@jupyterlab/apputils';
import { DocumentRegistry } from '@jupyterlab/docregistry';
import { IRunningSessionManagers, IRunningSessions } from '@jupyterlab/running';
import { ISettingRegistry } from '@jupyterlab/settingregistry';
import { CommandRegistry } from '@lumino/commands';
import { Signal } from '@lumino/signaling';
import { Widget } from '@lumino/widgets';
import { CARD_COMMANDS, CommandIDs } from '../commands';
import { DashboardPane } from '../panels/pane';
import { clustersPlugin } from '../plugins/clusters';
import { dashboardsPlugin } from '../plugins/dashboards';
import { exportsPlugin } from '../plugins/exports';
import { doctorPlugin } from '../plugins/doctor';
import { notificationsPlugin } from '../plugins/notifications';
import { recordingsPlugin } from '../plugins/recordings';
import { loadSettings } from '../plugins/settings';
import { runningPlugin } from '../plugins/running';
import { IDashboards } from '../tokens';
import {
  FakeSocket,
  IModels,
  json,
  makeCluster,
  makeExport,
  makeModels,
  makeRun,
  settle,
  trans
} from './fakes';

const API = '/user/someone/glassloom/api';
const POOL = {
  id: 'pool',
  name: 'threads-7',
  kind: 'threads',
  workers: 0,
  threads: 3,
  can: []
};

interface IFakeApp extends JupyterFrontEnd {
  added: [Widget, string, object][];
  renamed: Signal<object, object>;
}

function makeApp(models: IModels): IFakeApp {
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

function activateDashboards(app: IFakeApp, models: IModels): IDashboards {
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
    app.shell
  ) as IDashboards;
}

/** Let the browser open so many tabs and block the others; return where those that it opens go. */
function openTabs(most = Infinity): [jest.SpyInstance, string[]] {
  const opened: string[] = [];
  const open = jest.spyOn(window, 'open').mockImplementation(() => {
    const location = { replace: (url: string) => opened.push(url) };
    return opened.length < most ? ({ location } as never) : null;
  });
  return [open, opened];
}

beforeAll(() => {
  window.matchMedia = (() => new EventTarget()) as never;
});

describe('What clusters cannot do', () => {
  let models: IModels;
  let app: IFakeApp;

  beforeEach(() => {
    models = makeModels();
    app = makeApp(models);
    const { clusters, notebooks, stream } = models;
    void clustersPlugin.activate(app, clusters, null, notebooks, null, null);
    void doctorPlugin.activate(app, stream, clusters, null, null);
    activateDashboards(app, models);
    FakeSocket.last.tell(makeCluster({ id: 'a' }), makeCluster(POOL));
  });

  afterEach(() => models.dispose());

  const visible = (cluster: string): string[] =>
    CARD_COMMANDS.filter(
      command =>
        app.commands.isVisible(command, { cluster }) &&
        app.commands.isEnabled(command, { cluster })
    );

  it('is not offered', () => {
    expect(visible('a')).toEqual([
      CommandIDs.openDashboard,
      CommandIDs.scaleCluster,
      CommandIDs.restartCluster,
      CommandIDs.renameCluster,
      CommandIDs.showLog,
      CommandIDs.diagnose,
      CommandIDs.shutDownCluster
    ]);
    expect(visible('pool')).toEqual([
      CommandIDs.openDashboard,
      CommandIDs.diagnose
    ]);
  });

  it('is neither done when it is asked for all the same', async () => {
    await app.commands.execute(CommandIDs.shutDownCluster, {
      cluster: 'pool'
    });
    await settle();
    expect(models.calls.filter(({ method }) => method !== 'GET')).toEqual([]);
  });

  it('is said where the cluster is gone, as by a button in an output that was saved', async () => {
    const tell = jest.spyOn(Notification, 'info').mockReturnValue('');
    await app.commands.execute(CommandIDs.scaleCluster, { cluster: 'gone' });
    expect(tell).toHaveBeenCalledWith(
      'This cluster has ended, or the Jupyter server does not know it.',
      expect.anything()
    );
    tell.mockRestore();
  });

  it('is left out of the list of what runs, and of "Shut Down All"', async () => {
    const added: IRunningSessions.IManager[] = [];
    const managers = {
      add: (manager: IRunningSessions.IManager) => added.push(manager)
    } as unknown as IRunningSessionManagers;
    void runningPlugin.activate(app, models.clusters, managers, null);
    const items = added[0].running({ mode: 'list' });
    expect(items.map(item => item.detail?.())).toEqual([
      '2 workers, 4 threads',
      '3 threads in one process'
    ]);
    expect(items.map(item => item.shutdown !== undefined)).toEqual([
      true,
      false
    ]);
    added[0].shutdownAll();
    await settle();
    const deleted = models.calls.filter(({ method }) => method === 'DELETE');
    expect(deleted.map(({ path }) => path)).toEqual([`${API}/clusters/a`]);
  });

  it('inserts code for the named cluster into the notebook', async () => {
    models.notebooks.show('x.ipynb');
    expect(visible('a')).toContain(CommandIDs.insertClient);
    expect(visible('pool')).not.toContain(CommandIDs.insertClient);
    await app.commands.execute(CommandIDs.insertClient, { cluster: 'a' });
    expect(models.notebooks.inserted[0]).toContain('client = Client("loom")');
  });
});

describe('A new cluster', () => {
  const PROFILES = {
    schema: {
      type: 'object',
      properties: { name: { type: 'string' }, n_workers: { type: 'integer' } }
    },
    profiles: [],
    kernels: []
  };
  let models: IModels;
  let app: IFakeApp;

  beforeEach(() => {
    models = makeModels({
      [`GET ${API}/profiles`]: json(PROFILES),
      [`POST ${API}/clusters`]: json({ id: 's1', name: 'loom' }, 202)
    });
    app = makeApp(models);
    const { clusters, notebooks } = models;
    void clustersPlugin.activate(app, clusters, null, notebooks, null, null);
  });

  afterEach(() => models.dispose());

  function closeForm(): void {
    document
      .querySelector<HTMLElement>('.gl-NewCluster .jp-mod-reject')
      ?.click();
  }

  /** The form that is open, drawn; null if none is. */
  async function openForm(): Promise<HTMLElement | null> {
    for (let round = 0; round < 5; round++) {
      await settle();
      await new Promise(resolve => setTimeout(resolve));
    }
    const forms = document.querySelectorAll<HTMLElement>('.gl-NewCluster');
    expect(forms.length).toBeLessThan(2);
    return forms[0] ?? null;
  }

  function filledIn(form: HTMLElement | null): string[] {
    return Array.from(
      form?.querySelectorAll('input') ?? [],
      ({ value }) => value
    );
  }

  it('is asked for by one form however often it is asked for, and by another when that is closed', async () => {
    const ask = (): Promise<void> =>
      app.commands.execute(CommandIDs.newCluster, {});
    const asked = [ask(), ask()];
    expect(await openForm()).not.toBeNull();
    await asked[1]; // it has done nothing
    asked.push(ask());
    await openForm();
    closeForm();
    await Promise.all(asked);
    expect(await openForm()).toBeNull();
    const again = ask();
    expect(await openForm()).not.toBeNull();
    closeForm();
    await again;
    const profiles = models.calls.filter(({ path }) =>
      path.endsWith('/profiles')
    );
    expect(profiles.length).toBe(2);
  });

  it('like one that was lost has what that was asked for here, and the name that it had last', async () => {
    const { clusters } = models;
    await clusters.start({ name: 'loom', n_workers: 3 });
    const lost = [
      { id: 'c1', name: 'renamed', at: 5, start: 's1', has_log: false },
      { id: 'c2', name: 'of a notebook', at: 5, start: null, has_log: false },
      { id: 'c3', name: 'before a reload', at: 5, start: 's0', has_log: false }
    ];
    FakeSocket.last.tellState({ lost });
    const filled: Record<string, string[]> = {};
    for (const id of ['c1', 'c2', 'c3', 'never seen']) {
      const asked = app.commands.execute(CommandIDs.newCluster, { lost: id });
      filled[id] = filledIn(await openForm());
      closeForm();
      await asked;
    }
    expect(filled).toEqual({
      c1: ['renamed', '3'],
      c2: ['of a notebook', ''],
      c3: ['before a reload', ''],
      'never seen': ['', '']
    });
  });
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
    const { stream, clusters, recordings, pages } = models;
    void dashboardsPlugin.activate(
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
      null
    );
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

describe('Notifications', () => {
  const ended = makeRun({
    started_at: 0,
    ended_at: 60,
    outcome: 'failed',
    notebook: 'a.ipynb'
  });

  function setUp(path: string | null): jest.SpyInstance {
    const tell = jest.spyOn(Notification, 'error').mockReturnValue('');
    const models = makeModels();
    const { clusters, notebooks } = models;
    notebooks.current = path;
    void notificationsPlugin.activate(
      makeApp(models),
      clusters,
      null,
      notebooks,
      null
    );
    FakeSocket.last.tell(
      makeCluster({ runs: [{ ...ended, ended_at: null, outcome: 'running' }] })
    );
    FakeSocket.last.tell(makeCluster({ runs: [ended] }));
    models.dispose();
    return tell;
  }

  it('tell of a run that has ended while another notebook was in front', () => {
    const tell = setUp('b.ipynb');
    expect(tell.mock.calls.map(([message]) => message)).toEqual([
      'sum has failed on loom after 1 min 0 s.'
    ]);
    tell.mockRestore();
  });

  it('tell of a cluster that was lost while this page knew it, with its log and a way to start it again', async () => {
    const lines = { lines: ['out of memory'] };
    const models = makeModels({ [`GET ${API}/clusters/c1/log`]: json(lines) });
    const app = makeApp(models);
    void notificationsPlugin.activate(app, models.clusters, null, null, null);
    const execute = jest
      .spyOn(app.commands, 'execute')
      .mockResolvedValue(undefined);
    const at = 5;
    const old = { id: 'c0', name: 'old', at, start: null, has_log: true };
    const lost = { id: 'c1', name: 'loom', at, start: null, has_log: true };
    const socket = FakeSocket.last;
    socket.tellState({ clusters: [makeCluster({ id: 'c1' })], lost: [old] });
    expect(Notification.manager.count).toBe(0); // it went before this page came
    socket.tellChanges({
      clusters: { c1: null },
      order: [],
      lost: [old, lost]
    });
    socket.tellChanges({ lost: [old, lost] });
    const [{ message, options }] = Notification.manager.notifications;
    expect(Notification.manager.count).toBe(1);
    expect(message).toContain('The cluster loom was lost');
    const actions = options.actions ?? [];
    expect(actions.map(({ label }) => label)).toEqual([
      'Start again…',
      'Show the log'
    ]);
    actions[0].callback(new MouseEvent('click'));
    expect(execute).toHaveBeenCalledWith('glassloom:new-cluster', {
      lost: 'c1'
    });
    const show = new MouseEvent('click', { cancelable: true });
    actions[1].callback(show);
    expect(show.defaultPrevented).toBe(true); // it stays: who has read the log starts again
    await settle();
    const log = document.querySelector<HTMLElement>('.gl-WideDialog');
    expect(log?.textContent).toContain('out of memory');
    const offered = log?.querySelectorAll('.jp-Dialog-footer button') ?? [];
    expect([...offered].map(({ textContent }) => textContent)).toEqual([
      'Copy',
      'Close' // it can't be refreshed
    ]);
    log?.querySelector<HTMLElement>('.jp-mod-accept')?.click();
    execute.mockRestore();
    Notification.dismiss();
    models.dispose();
  });

  it('offer no log of a lost cluster where none is kept', () => {
    const models = makeModels();
    const app = makeApp(models);
    void notificationsPlugin.activate(app, models.clusters, null, null, null);
    FakeSocket.last.tell(makeCluster({ id: 'c1' }));
    FakeSocket.last.tellChanges({
      clusters: { c1: null },
      lost: [{ id: 'c1', name: 'loom', at: 5, start: null, has_log: false }]
    });
    const [{ options }] = Notification.manager.notifications;
    expect(options.actions?.map(({ label }) => label)).toEqual([
      'Start again…'
    ]);
    Notification.dismiss();
    models.dispose();
  });

  it('tell of workers that die one after the other in one piece, which grows', () => {
    const models = makeModels();
    const { clusters } = models;
    void notificationsPlugin.activate(
      makeApp(models),
      clusters,
      null,
      null,
      null
    );
    const told = (): string[] =>
      Notification.manager.notifications.map(({ message }) => message);
    for (const workers_lost of [0, 1, 2, 5]) {
      FakeSocket.last.tell(makeCluster({ workers_lost }));
    }
    expect(told()).toEqual(['5 workers of loom have died.']);
    const [{ options }] = Notification.manager.notifications;
    expect(options.actions?.map(({ label }) => label)).toEqual([
      'Show the log'
    ]);
    Notification.dismiss(); // what was read is not told again
    FakeSocket.last.tell(makeCluster({ workers_lost: 6 }));
    expect(told()).toEqual(['A worker of loom has died.']);
    Notification.dismiss();
    models.dispose();
  });

  it('do not tell of it to who looks at its notebook', () => {
    const tell = setUp('a.ipynb');
    expect(tell).not.toHaveBeenCalled();
    tell.mockRestore();
  });
});
