import { CommandRegistry } from '@lumino/commands';
import { Widget } from '@lumino/widgets';
import { CommandIDs } from '../commands';
import { ClusterModel } from '../model/clusters';
import { ClusterList } from '../panels/clusters';
import { DashboardList } from '../panels/dashboards';
import { NewClusterForm } from '../panels/newCluster';
import {
  FakeSocket,
  fakeAPI,
  makeCluster,
  makeRecording,
  settle
} from './fakes';

const PAGES = [
  { id: 'status', title: 'Status', description: 'Everything' },
  { id: 'task-stream', title: 'Task stream', description: 'What and when' }
];

function setUp(): [ClusterModel, CommandRegistry, unknown[]] {
  const [api] = fakeAPI({
    'GET /user/someone/glassloom/api/pages': () =>
      new Response(JSON.stringify({ pages: PAGES }))
  });
  const executed: unknown[] = [];
  const commands = new CommandRegistry();
  for (const id of Object.values(CommandIDs)) {
    commands.addCommand(id, { execute: args => executed.push([id, args]) });
  }
  return [new ClusterModel(api), commands, executed];
}

async function show(widget: ClusterList | DashboardList): Promise<HTMLElement> {
  Widget.attach(widget, document.body);
  await widget.renderPromise;
  return widget.node;
}

async function redrawn(widget: ClusterList | DashboardList): Promise<void> {
  await settle();
  await new Promise(resolve => setTimeout(resolve, 0));
  await widget.renderPromise;
}

describe('ClusterList', () => {
  it('says what to do when there is no cluster', async () => {
    const [model, commands] = setUp();
    const list = new ClusterList(model, commands);
    const node = await show(list);
    expect(node.textContent).toBe('Looking for clusters…');
    FakeSocket.last.tell();
    await redrawn(list);
    expect(node.textContent).toContain('No clusters yet');
    expect(node.textContent).toContain('Client()');
    list.dispose();
  });

  it('shows why a cluster cannot be read, and no zeros', async () => {
    const [model, commands] = setUp();
    const list = new ClusterList(model, commands);
    const node = await show(list);
    const problem = 'cluster c1 speaks version 9 of the metrics protocol';
    FakeSocket.last.tell(makeCluster({ problem, workers: 0 }));
    await redrawn(list);
    const text = node.textContent ?? '';
    expect(text).toContain('Cannot be read');
    expect(text).toContain(problem);
    for (const part of ['0 workers', 'CPU', 'tasks']) {
      expect(text).not.toContain(part);
    }
    list.dispose();
  });

  it('shows the numbers of a cluster, and its name as text', async () => {
    const [model, commands] = setUp();
    const list = new ClusterList(model, commands);
    const node = await show(list);
    const name = '<img src=x onerror=alert(1)>'.repeat(10);
    const tasks = { memory: 1200, released: 34, running: 3, erred: 2 };
    FakeSocket.last.tell(makeCluster({ name }, tasks));
    await redrawn(list);
    expect(node.querySelector('img')).toBeNull();
    expect(node.querySelector<HTMLElement>('.gl-Card-name')?.title).toBe(name);
    const text = node.textContent ?? '';
    for (const part of [
      '2 workers, 4 threads',
      '120 %',
      '0.50 / 1.00 KiB',
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
    list.dispose();
  });

  it('shows recordings, to be opened and closed, and clusters elsewhere, which cannot be', async () => {
    const [model, commands, executed] = setUp();
    const list = new ClusterList(model, commands);
    const node = await show(list);
    FakeSocket.last.tellState({
      recordings: [makeRecording({ name: '<b>run</b>.glr' })],
      elsewhere: [{ id: 'a1', name: 'theirs', host: 'node12', started_at: 0 }]
    });
    await redrawn(list);
    const recording = node.querySelector('[data-recording="recording-1"]');
    expect(recording?.textContent).toContain('<b>run</b>.glr');
    expect(recording?.textContent).toContain('Recording');
    for (const button of recording?.querySelectorAll('button') ?? []) {
      button.click();
    }
    expect(executed).toEqual([
      [CommandIDs.openDashboard, { cluster: 'recording-1' }],
      [CommandIDs.closeRecording, { recording: 'recording-1' }]
    ]);
    const elsewhere = node.querySelector('[data-elsewhere="a1"]');
    expect(elsewhere?.textContent).toContain('theirs');
    expect(elsewhere?.textContent).toContain('On node12');
    expect(elsewhere?.querySelector('button')).toBeNull();
    list.dispose();
  });

  it('offers to shut down clusters, and no thread pools', async () => {
    const [model, commands] = setUp();
    const list = new ClusterList(model, commands);
    const node = await show(list);
    FakeSocket.last.tell(
      makeCluster({ id: 'pool', kind: 'threads', workers: 0, threads: 3 }),
      makeCluster({ id: 'a' })
    );
    await redrawn(list);
    const actions = (id: string): (string | undefined)[] =>
      Array.from(
        node.querySelectorAll<HTMLElement>(
          `[data-cluster="${id}"] [data-action]`
        ),
        ({ dataset }) => dataset.action
      );
    expect(actions('a')).toEqual(['open', 'shut-down']);
    expect(actions('pool')).toEqual(['open']);
    expect(node.textContent).toContain('3 threads in one process');
    list.dispose();
  });

  it('runs the commands of its buttons without choosing the cluster', async () => {
    const [model, commands, executed] = setUp();
    const list = new ClusterList(model, commands);
    const node = await show(list);
    FakeSocket.last.tell(makeCluster({ id: 'a' }), makeCluster({ id: 'b' }));
    await redrawn(list);
    const card = node.querySelector<HTMLElement>('[data-cluster="a"]');
    card?.querySelector<HTMLElement>('[data-action="open"]')?.click();
    card?.querySelector<HTMLElement>('[data-action="shut-down"]')?.click();
    expect(executed).toEqual([
      [CommandIDs.openDashboard, { cluster: 'a' }],
      [CommandIDs.shutDownCluster, { cluster: 'a' }]
    ]);
    expect(model.active?.id).toBe('b');
    card?.click();
    expect(model.active?.id).toBe('a');
    list.dispose();
  });
});

describe('DashboardList', () => {
  it('opens a page of the active cluster, and nothing without one', async () => {
    const [model, commands, executed] = setUp();
    const list = new DashboardList(model, commands);
    const node = await show(list);
    await redrawn(list);
    const button = (): HTMLButtonElement | null =>
      node.querySelector('[data-page="task-stream"]');
    expect(button()?.disabled).toBe(true);
    FakeSocket.last.tell(makeCluster({ id: 'a' }));
    await redrawn(list);
    button()?.click();
    expect(executed).toEqual([
      [CommandIDs.openDashboard, { cluster: 'a', page: 'task-stream' }]
    ]);
    list.dispose();
  });
});

describe('NewClusterForm', () => {
  it('leaves out empty fields and makes numbers of numbers', async () => {
    const form = new NewClusterForm({ name: ' mine ', n_workers: 3 });
    Widget.attach(form, document.body);
    await form.renderPromise;
    expect(form.getValue()).toEqual({ name: 'mine', n_workers: 3 });
    form.dispose();
  });

  it('shows why the last try failed', async () => {
    const form = new NewClusterForm({}, 'MemoryLimitError: no');
    Widget.attach(form, document.body);
    await form.renderPromise;
    expect(form.node.querySelector('[role="alert"]')?.textContent).toBe(
      'MemoryLimitError: no'
    );
    form.dispose();
  });
});
