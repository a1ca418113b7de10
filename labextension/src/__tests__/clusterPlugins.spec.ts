/**
 * The plugins that deal with clusters, and what they tell of them.
 */
import { Notification } from '@jupyterlab/apputils';
import { IRunningSessionManagers, IRunningSessions } from '@jupyterlab/running';
import { CARD_COMMANDS, CommandIDs } from '../commands';
import { clustersPlugin } from '../plugins/clusters';
import { doctorPlugin } from '../plugins/doctor';
import { notificationsPlugin } from '../plugins/notifications';
import { runningPlugin } from '../plugins/running';
import {
  FakeSocket,
  IModels,
  json,
  makeCluster,
  makeModels,
  makeRun,
  settle
} from './fakes';
import { API, IFakeApp, POOL, activateDashboards, makeApp } from './fakeApp';

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
