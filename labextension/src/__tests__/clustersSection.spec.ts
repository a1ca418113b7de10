import { Dialog } from '@jupyterlab/apputils';
import { ClustersSection } from '../panels/clusters';
import {
  IRefusal,
  NewClusterDialog,
  NewClusterForm
} from '../panels/newCluster';
import { inFormWords } from '../model/profiles';
import { ScaleForm } from '../panels/scale';
import {
  FakeSocket,
  IModels,
  makeCluster,
  makeRecording,
  settle,
  trans
} from './fakes';
import { actionsOf, redrawn, setUp, show } from './sections';

function makeClusters(models: IModels, told: unknown[]): ClustersSection {
  const tell =
    (what: string) =>
    (...args: unknown[]): void => {
      told.push([what, args[0]]);
    };
  return new ClustersSection({
    ...models,
    trans,
    onApproach: tell('approach'),
    onOpen: tell('open'),
    onInsert: tell('insert'),
    onMenu: tell('menu'),
    onOpenFile: tell('file'),
    onDismissStart: tell('dismiss'),
    onRetryStart: tell('retry'),
    onCloseRecording: tell('close')
  });
}
describe('The section of clusters', () => {
  it('says what to do when there is no cluster', async () => {
    const { told, ...models } = setUp();
    const section = makeClusters(models, told);
    const node = await show(section);
    expect(node.textContent).toBe('Looking for clusters…');
    FakeSocket.last.tell();
    await redrawn(section);
    expect(node.textContent).toContain('No clusters yet');
    expect(node.textContent).toContain('Client()');
    section.dispose();
  });

  it('shows why a cluster cannot be read, and no zeros', async () => {
    const { told, ...models } = setUp();
    const section = makeClusters(models, told);
    const node = await show(section);
    const problem = 'cluster c1 speaks version 9 of the metrics protocol';
    FakeSocket.last.tell(makeCluster({ problem, workers: 0 }));
    await redrawn(section);
    const text = node.textContent ?? '';
    expect(text).toContain('Cannot be read');
    expect(text).toContain(problem);
    for (const part of ['0 workers', 'CPU', 'tasks']) {
      expect(text).not.toContain(part);
    }
    section.dispose();
  });

  it('shows the numbers of a cluster, and its name as text', async () => {
    const { told, ...models } = setUp();
    const section = makeClusters(models, told);
    const node = await show(section);
    const name = '<img src=x onerror=alert(1)>'.repeat(10);
    const tasks = { memory: 1200, released: 34, running: 3, erred: 2 };
    const gpu = {
      name: 'H200',
      percent: 40,
      memory_bytes: 1,
      memory_limit_bytes: 2
    };
    const fields = { name, spilled_bytes: 2048, gpus: [gpu, gpu] };
    FakeSocket.last.tell(makeCluster(fields, tasks));
    await redrawn(section);
    expect(node.querySelector('img')).toBeNull();
    expect(node.querySelector<HTMLElement>('.gl-Card-name')?.title).toBe(name);
    const text = node.textContent ?? '';
    for (const part of [
      '2 workers, 4 threads',
      '120 %',
      '2 GPUs40 %',
      '0.50 / 1.00 KiB',
      '2.00 KiB spilled to disk',
      '1,234 tasks done',
      '3 running',
      '2 failed',
      'Started from a notebook'
    ]) {
      expect(text).toContain(part);
    }
    expect(node.querySelector<HTMLElement>('.gl-Bar > span')?.style.width).toBe(
      '50%'
    );
    section.dispose();
  });

  it('shows what takes the memory of the workers devices', async () => {
    const { told, ...models } = setUp();
    const section = makeClusters(models, told);
    const node = await show(section);
    FakeSocket.last.tell(makeCluster());
    await redrawn(section);
    expect(node.querySelector('[data-meter="device-memory"]')).toBeNull();
    const device_memory = {
      held_bytes: 256,
      pool_bytes: 512,
      other_bytes: 128,
      moved_bytes: 2048,
      total_bytes: 1024
    };
    FakeSocket.last.tell(makeCluster({ device_memory }));
    await redrawn(section);
    const meter = node.querySelector<HTMLElement>(
      '[data-meter="device-memory"]'
    );
    expect(meter?.textContent).toBe('GPU memory0.63 / 1.00 KiB');
    const parts = [...meter!.querySelectorAll<HTMLElement>('[data-part]')];
    expect(parts.map(part => part.style.width)).toEqual([
      '25%',
      '25%',
      '12.5%'
    ]);
    expect(meter?.title).toContain('Results moved to the host: 2.00 KiB');
    section.dispose();
  });

  it('says what a cluster takes beside its workers, where it has told', async () => {
    const { told, ...models } = setUp();
    const section = makeClusters(models, told);
    const node = await show(section);
    const overhead = (): HTMLElement | null =>
      node.querySelector('.gl-Card-overhead');
    FakeSocket.last.tell(makeCluster());
    await redrawn(section);
    expect(overhead()).toBeNull();
    const engine = {
      cpu_percent: 0.42,
      memory_bytes: 64 * 1024 ** 2,
      log_memory_bytes: 1536,
      log_disk_bytes: 0,
      loop_lag_s: 0.004,
      readers: 1
    };
    FakeSocket.last.tell(makeCluster({ engine }));
    await redrawn(section);
    expect(overhead()?.textContent).toBe('Overhead: 0.4 % CPU, 64.0 MiB');
    expect(overhead()?.title.split('\n')).toEqual([
      'What the cluster takes beside its workers',
      'Head, the process that schedules: 0.4 % of a core, 64.0 MiB',
      'Its event loop was late by 4 ms at most, in the last minute',
      'Log of its metrics: 1.50 KiB in memory, 0 B on disk',
      '1 reader of the log, such as this panel and the dashboards'
    ]);
    section.dispose();
  });

  it('does not make a 0 of a GPU that says nothing', async () => {
    const { told, ...models } = setUp();
    const section = makeClusters(models, told);
    const node = await show(section);
    const gpu = {
      name: 'MIG 1g',
      percent: null,
      memory_bytes: null,
      memory_limit_bytes: null
    };
    FakeSocket.last.tell(makeCluster({ gpus: [gpu] }));
    await redrawn(section);
    expect(node.textContent).toContain('GPUnot supported');
    section.dispose();
  });

  it('shows how long a cluster has been silent, how it adapts, and when it ends by itself', async () => {
    const { told, ...models } = setUp();
    const section = makeClusters(models, told);
    const node = await show(section);
    const nowS = Date.now() / 1000;
    FakeSocket.last.tell(
      makeCluster({
        state: 'silent',
        heard_at: nowS - 40,
        adaptive: { minimum: 1, maximum: 8 },
        idle_timeout_s: 1800,
        idle_since: nowS - 700
      })
    );
    await redrawn(section);
    for (const part of [
      'Silent for 40 s',
      '2 workers (adaptive, 1 to 8), 4 threads',
      'Idle: ends in 19 min'
    ]) {
      expect(node.textContent).toContain(part);
    }
    section.dispose();
  });

  it('names the notebook that a cluster belongs to, and opens it', async () => {
    const { told, ...models } = setUp();
    const section = makeClusters(models, told);
    const node = await show(section);
    FakeSocket.last.tell(
      makeCluster({ id: 'a', notebook: 'deep/down/demo.ipynb' }),
      makeCluster({ id: 'b', script: '/home/me/nightly.py' })
    );
    await redrawn(section);
    const link = node.querySelector<HTMLElement>('[data-cluster="a"] .gl-Link');
    expect(link?.textContent).toBe('demo.ipynb');
    link?.click();
    expect(told).toEqual([['file', 'deep/down/demo.ipynb']]);
    const script = node.querySelector('[data-cluster="b"] .gl-Card-origin');
    expect(script?.textContent).toContain('nightly.py');
    expect(script?.querySelector('button')).toBeNull();
    section.dispose();
  });

  it('shows starts, recordings and clusters elsewhere, with what can be done with each', async () => {
    const { told, ...models } = setUp();
    const section = makeClusters(models, told);
    const node = await show(section);
    FakeSocket.last.tellState({
      starts: [
        {
          id: 's1',
          name: 'one',
          state: 'starting',
          problem: '',
          cluster: null
        },
        {
          id: 's2',
          name: 'two',
          state: 'failed',
          problem: "memory_limit='lots' is not a size",
          field: 'memory_limit',
          cluster: null
        }
      ],
      recordings: [makeRecording({ name: '<b>run</b>.glr' })],
      elsewhere: [{ id: 'a1', name: 'theirs', host: 'node12', started_at: 0 }]
    });
    await redrawn(section);
    const text = node.textContent ?? '';
    for (const part of [
      'Starting…',
      'Did not start',
      '“Memory limit” “lots” is not a size',
      '<b>run</b>.glr',
      'On node12'
    ]) {
      expect(text).toContain(part);
    }
    node.querySelectorAll('button').forEach(button => button.click());
    expect(told).toEqual([
      ['dismiss', 's1'],
      ['dismiss', 's2'],
      ['open', 'recording-1'],
      ['close', 'recording-1']
    ]);
    expect(actionsOf(node, '[data-elsewhere="a1"]')).toEqual([]);
    // Safari takes a list without bullets for none, unless it says that it is one.
    const lists = Array.from(node.querySelectorAll('ul'));
    expect(lists.map(list => list.getAttribute('role'))).toEqual(['list']);
    section.dispose();
  });

  it.each(['pointerover', 'focusin'])(
    'tells of a card whose dashboard may be opened next: %s',
    async kind => {
      const { told, ...models } = setUp();
      const section = makeClusters(models, told);
      const node = await show(section);
      FakeSocket.last.tell(makeCluster());
      await redrawn(section);
      const name = node.querySelector('.gl-Card-name');
      name?.dispatchEvent(new Event(kind, { bubbles: true }));
      expect(told).toEqual([['approach', undefined]]);
      section.dispose();
    }
  );

  it('offers to insert code only where there is a notebook', async () => {
    const { told, ...models } = setUp();
    const section = makeClusters(models, told);
    const node = await show(section);
    FakeSocket.last.tell(makeCluster({ id: 'a' }));
    await redrawn(section);
    expect(actionsOf(node, '[data-cluster="a"]')).toEqual(['open', 'menu']);
    models.notebooks.show('x.ipynb');
    await redrawn(section);
    expect(actionsOf(node, '[data-cluster="a"]')).toEqual([
      'open',
      'insert',
      'menu'
    ]);
    section.dispose();
  });

  it('does what its buttons say without choosing the cluster', async () => {
    const { told, ...models } = setUp();
    const section = makeClusters(models, told);
    const node = await show(section);
    FakeSocket.last.tell(makeCluster({ id: 'a' }), makeCluster({ id: 'b' }));
    await redrawn(section);
    const card = node.querySelector<HTMLElement>('[data-cluster="a"]');
    card?.querySelector<HTMLElement>('[data-action="open"]')?.click();
    card?.querySelector<HTMLElement>('[data-action="menu"]')?.click();
    expect(told).toEqual([
      ['open', 'a'],
      ['menu', 'a']
    ]);
    expect(models.clusters.active?.id).toBe('b');
    card?.click();
    expect(models.clusters.active?.id).toBe('a');
    section.dispose();
  });
});

describe('What counts time', () => {
  it('goes on between two changes, by the clock of the server', async () => {
    const { told, ...models } = setUp();
    const section = makeClusters(models, told);
    const node = await show(section);
    const nowS = Date.now() / 1000;
    const serverS = nowS + 3600;
    const clock = jest.spyOn(Date, 'now').mockReturnValue(1000 * nowS);
    FakeSocket.last.tell(
      makeCluster({ state: 'silent', heard_at: serverS - 30 }),
      makeCluster({ id: 'b', idle_timeout_s: 60, idle_since: serverS - 30.5 })
    );
    FakeSocket.last.send({ type: 'alive', sequence: 1, now: serverS });
    await redrawn(section);
    expect(node.textContent).toContain('Silent for 30 s');
    expect(node.textContent).toContain('Idle: ends in 30 s');
    clock.mockReturnValue(1000 * nowS + 10_000);
    await new Promise(resolve => setTimeout(resolve, 1_100)); // it ticks each second
    await redrawn(section);
    expect(node.textContent).toContain('Silent for 40 s');
    expect(node.textContent).toContain('Idle: ends in 20 s');
    clock.mockRestore();
    section.dispose();
    models.dispose();
  });
});

describe('NewClusterForm', () => {
  const PROFILES = {
    schema: {
      type: 'object',
      properties: {
        name: { type: 'string' },
        n_workers: { type: 'integer', title: 'Workers' }
      }
    },
    profiles: [
      {
        name: 'big',
        title: 'Big',
        description: 'All that there is',
        values: { n_workers: 64 }
      }
    ],
    kernels: []
  };

  async function showForm(
    ...args: [object?, IRefusal?]
  ): Promise<NewClusterForm> {
    const form = new NewClusterForm(trans, PROFILES, ...args);
    await show(form);
    return form;
  }

  it('has a labelled field for each property, and keeps what was filled in', async () => {
    const form = await showForm({ name: ' mine ', n_workers: 3 });
    const labels = Array.from(form.node.querySelectorAll('label'), each => [
      each.textContent,
      form.node.querySelector(`#${each.htmlFor}`)?.tagName
    ]);
    expect(labels).toEqual([
      ['Profile', 'SELECT'],
      ['Name', 'INPUT'],
      ['Workers', 'INPUT']
    ]);
    expect(form.getValue()).toEqual({ name: 'mine', n_workers: 3 });
    form.dispose();
  });

  it('has one label for a box, which says what it is for', async () => {
    const gpu = { type: 'boolean', title: 'On GPUs', description: 'One each' };
    const schema = { type: 'object', properties: { gpu } };
    const form = new NewClusterForm(trans, { ...PROFILES, schema });
    await show(form);
    const [, label] = form.node.querySelectorAll('label');
    expect(form.node.querySelectorAll('label').length).toBe(2);
    expect(label.textContent).toBe('On GPUs');
    expect(label.querySelector('input')?.type).toBe('checkbox');
    expect(form.node.textContent?.match(/One each/g)?.length).toBe(1);
    form.dispose();
  });

  it('is filled in by a profile', async () => {
    const form = await showForm();
    const select = form.node.querySelector('select') as HTMLSelectElement;
    select.value = 'big';
    select.dispatchEvent(new Event('change', { bubbles: true }));
    await redrawn(form);
    expect(form.node.textContent).toContain('All that there is');
    expect(form.getValue()).toEqual({ profile: 'big', n_workers: 64 });
    form.dispose();
  });

  it('says why the cluster cannot be had: above, or at the field, in the words of its labels', async () => {
    const form = await showForm({ n_workers: 9 }, { message: 'out of disk' });
    const alerts = (): (string | null)[] =>
      Array.from(
        form.node.querySelectorAll('[role="alert"]'),
        ({ textContent }) => textContent
      );
    expect(alerts()).toEqual(['out of disk']);
    form.refuse({
      message: 'n_workers=9 is not what name=loom can have',
      field: 'n_workers'
    });
    await redrawn(form);
    expect(alerts()).toEqual(['9 is not what “Name” loom can have']);
    expect(form.node.querySelector('.gl-mod-refused label')?.textContent).toBe(
      'Workers'
    );
    expect(form.getValue()).toEqual({ n_workers: 9 });
    form.dispose();
  });

  it.each([
    [
      "memory_limit='lots' isn't a size: can't be, unless '4GB', 'auto', or 'none'",
      'memory_limit',
      "“lots” isn't a size: can't be, unless “4GB”, “auto”, or “none”"
    ],
    ["gpu=true can't be had: no GPU", 'gpu', "can't be had: no GPU"],
    ["name='' is empty", '', '“Name” “” is empty']
  ])('tells %j of the engine in its own words', (message, field, words) => {
    const properties = { name: { title: 'Name' }, memory_limit: {}, gpu: {} };
    expect(inFormWords(message, field, { properties })).toBe(words);
  });
});

describe('NewClusterDialog', () => {
  const PROFILES = {
    schema: { type: 'object', properties: { name: { type: 'string' } } },
    profiles: [],
    kernels: []
  };

  function openDialog(
    start: (request: object) => Promise<IRefusal | null>,
    giveUp = jest.fn()
  ): [NewClusterDialog, Promise<Dialog.IResult<object>>, HTMLElement] {
    const dialog = new NewClusterDialog({
      trans,
      profiles: PROFILES,
      initial: { name: 'mine' },
      start,
      giveUp
    });
    const closed = dialog.launch();
    const button = dialog.node.querySelector('.jp-mod-accept') as HTMLElement;
    return [dialog, closed, button];
  }

  it('stays with what was filled in until the cluster starts, and starts one at a time', async () => {
    const answers: ((refusal: IRefusal | null) => void)[] = [];
    const start = jest.fn(
      () => new Promise<IRefusal | null>(resolve => answers.push(resolve))
    );
    const [dialog, closed, button] = openDialog(start);
    await settle();
    button.click();
    button.click();
    expect(start.mock.calls).toEqual([[{ name: 'mine' }]]);
    expect(button.textContent).toBe('Starting…');
    answers[0]({ message: "name='mine' is taken", field: 'name' });
    await settle();
    expect(dialog.isDisposed).toBe(false);
    expect(button.textContent).toBe('Start');
    button.click();
    expect(start.mock.calls[1]).toEqual([{ name: 'mine' }]);
    answers[1](null);
    expect((await closed).button.accept).toBe(true);
  });

  it('gives a start up that is cancelled', async () => {
    const giveUp = jest.fn();
    const [dialog, closed, button] = openDialog(
      () => new Promise(() => undefined),
      giveUp
    );
    await settle();
    button.click();
    dialog.reject();
    expect((await closed).button.accept).toBe(false);
    expect(giveUp).toHaveBeenCalledTimes(1);
  });
});

describe('ScaleForm', () => {
  it.each([
    [{}, { n: 2 }, ['mode', 'n', 'mode', 'minimum', 'maximum']],
    [
      { adaptive: { minimum: 2, maximum: 9 } },
      { minimum: 2, maximum: 9 },
      ['mode', 'n', 'mode', 'minimum', 'maximum']
    ],
    [{ can: ['scale' as const] }, { n: 2 }, ['mode', 'n']]
  ])('asks for what a cluster %j can do', async (fields, value, names) => {
    const form = new ScaleForm(trans, makeCluster(fields));
    await show(form);
    expect(form.getValue()).toEqual(value);
    expect(
      Array.from(form.node.querySelectorAll('input'), ({ name }) => name)
    ).toEqual(names);
    form.dispose();
  });
});
