import { ISessionContext } from '@jupyterlab/apputils';
import { nullTranslator } from '@jupyterlab/translation';
import { CommandRegistry } from '@lumino/commands';
import { Signal } from '@lumino/signaling';
import { PanelLayout, Widget } from '@lumino/widgets';
import { CommandIDs } from '../commands';
import { CellRuns, COMM_TARGET, ICellState } from '../model/cellRuns';
import { describeRate, formatSeconds, staticSummary } from '../model/cellText';
import { NotebookStrips } from '../plugins/cellStrip';
import { settle } from './fakes';

const trans = nullTranslator.load('glassloom');
const SETTINGS = {
  isShown: true,
  savesSummary: false,
  open: 'while running' as const,
  minimumSeconds: 0.5
};

function counts(done: number, total: number): ICellState['tasks'] {
  return { total, done, running: 2, failed: 0, rate: 4, eta_s: 2 };
}

function makeState(fields: Partial<ICellState> = {}): ICellState {
  return {
    cell: 'a',
    execution: 1,
    executing: true,
    outcome: 'running',
    started_at: Date.now() / 1000 - 10,
    ended_at: null,
    tasks: counts(12, 20),
    layers: [
      { name: 'load', ...counts(10, 10) },
      { name: '<b>sum</b>', ...counts(2, 10) }
    ],
    n_layers: 3,
    clusters: [
      {
        id: 'c1',
        name: 'loom',
        kind: 'processes',
        workers: 4,
        busy: 3,
        threads: 8,
        memory_bytes: 2 ** 29,
        memory_limit_bytes: 2 ** 30,
        spilled_bytes: 3 * 2 ** 20,
        silent: false,
        ended: false
      }
    ],
    peak_bytes: 2 ** 29,
    peak_spilled_bytes: 0,
    runs: [
      {
        cluster: 'c1',
        id: 7,
        kind: 'compute',
        label: 'cell 1, line 1',
        outcome: 'running',
        started_at: 0,
        ended_at: null,
        done: 12,
        total: 20
      }
    ],
    n_runs: 1,
    errors: [],
    output: { lines: [], count: 0 },
    ...fields
  };
}

function ended(fields: Partial<ICellState> = {}): ICellState {
  return makeState({
    outcome: 'finished',
    executing: false,
    started_at: 1000,
    ended_at: 1012.34,
    tasks: { ...counts(20, 20), rate: null, eta_s: null },
    ...fields
  });
}

/** A notebook's session whose kernel a test plays. */
class FakeSession {
  readonly iopubMessage = new Signal<this, unknown>(this);
  readonly statusChanged = new Signal<this, string>(this);
  readonly kernelChanged = new Signal<this, unknown>(this);
  readonly connectionStatusChanged = new Signal<this, string>(this);
  readonly sent: [unknown, string | null][] = [];
  comms: Record<string, object> = {};
  interrupts = 0;
  readonly kernel = {
    isDisposed: false,
    supportsSubshells: true,
    username: 'someone',
    clientId: 'client',
    interrupt: async () => {
      this.interrupts += 1;
    },
    requestCommInfo: async (content: { target_name: string }) => {
      expect(content.target_name).toBe(COMM_TARGET);
      return { content: { status: 'ok', comms: this.comms } };
    },
    requestCreateSubshell: () => ({
      done: Promise.resolve({ content: { status: 'ok', subshell_id: 's1' } })
    }),
    requestDeleteSubshell: () => ({ done: Promise.resolve({}) }),
    sendShellMessage: (message: {
      header: { subshell_id: string | null };
      content: { data: unknown };
    }) => {
      this.sent.push([message.content.data, message.header.subshell_id]);
      return { done: Promise.resolve() };
    }
  };
  readonly session = { kernel: this.kernel };

  tell(...cells: ICellState[]): void {
    this.tellData({ glassloom_cells: 1, now: Date.now() / 1000, cells });
  }

  tellData(data: object): void {
    this.iopubMessage.emit({
      channel: 'iopub',
      header: { msg_type: 'comm_msg' },
      content: { comm_id: 'comm', data }
    });
  }

  get context(): ISessionContext {
    return this as unknown as ISessionContext;
  }
}

class FakeCellModel {
  constructor(readonly id: string) {}

  /** What JupyterLab does when a cell is executed. */
  execute(): void {
    this.clear();
    this.stateChanged.emit({ name: 'executionState', newValue: 'running' });
  }

  clear(): void {
    this.stateChanged.emit({ name: 'executionCount', newValue: null });
  }

  readonly type = 'code';
  readonly stateChanged = new Signal<
    this,
    { name: string; newValue: string | null }
  >(this);
}

class FakeCell extends Widget {
  readonly added: { data: Record<string, string> }[] = [];
  readonly model: FakeCellModel;
  readonly outputArea = {
    model: { add: (output: never) => this.added.push(output) }
  };

  constructor(id: string) {
    super();
    this.model = new FakeCellModel(id);
    const layout = (this.layout = new PanelLayout());
    for (const name of ['jp-Cell-inputWrapper', 'jp-Cell-outputWrapper']) {
      const part = new Widget();
      part.addClass(name);
      layout.addWidget(part);
    }
  }

  get strip(): HTMLElement | null {
    return this.node.querySelector('.gl-Strip:not(.lm-mod-hidden)');
  }
}

class FakeNotebook extends Widget {
  constructor(...ids: string[]) {
    super();
    this.content = new FakeContent(ids.map(id => new FakeCell(id)));
    this.content.widgets.forEach(cell => Widget.attach(cell, document.body));
  }

  readonly fake = new FakeSession();
  readonly sessionContext = this.fake.context;
  readonly content: FakeContent;
}

class FakeContent extends Widget {
  constructor(readonly widgets: FakeCell[]) {
    super();
  }

  readonly modelContentChanged = new Signal<this, void>(this);
}

type Panel = ConstructorParameters<typeof NotebookStrips>[0];

function open(
  settings: Partial<typeof SETTINGS> = {},
  ...ids: string[]
): [FakeNotebook, NotebookStrips, unknown[]] {
  const notebook = new FakeNotebook(...(ids.length > 0 ? ids : ['a', 'b']));
  const executed: unknown[] = [];
  const commands = new CommandRegistry();
  commands.addCommand(CommandIDs.openDashboard, {
    execute: args => executed.push(args)
  });
  const strips = new NotebookStrips(
    notebook as unknown as Panel,
    commands,
    trans,
    { ...SETTINGS, ...settings }
  );
  return [notebook, strips, executed];
}

/** React draws in slices of 5 ms: on a busy machine it may take one for each few of a strip's elements. */
const SLICES = 20;

async function drawn(): Promise<void> {
  for (let slice = 0; slice < SLICES; slice++) {
    await settle();
    await new Promise(resolve => setTimeout(resolve, 0));
  }
  await settle();
}

describe('CellRuns', () => {
  it('asks the kernel what it knows, and takes what it tells', async () => {
    const session = new FakeSession();
    session.comms = { comm: { target_name: COMM_TARGET } };
    const runs = new CellRuns(session.context);
    await settle();
    expect(session.sent).toEqual([[{ ask: 'cells' }, null]]);
    const changed: unknown[] = [];
    runs.changed.connect((_, cells) => changed.push(cells));
    session.tell(makeState(), makeState({ cell: 'b' }));
    expect(changed).toEqual([['a', 'b']]);
    expect(runs.find('a')?.state.tasks.done).toBe(12);
    session.tellData({ method: 'update', state: {} });
    expect(changed.length).toBe(1);
    runs.dispose();
    session.tell(makeState());
    expect(changed.length).toBe(1);
  });

  it('says that what ran has ended with its kernel', () => {
    const session = new FakeSession();
    const runs = new CellRuns(session.context);
    session.tell(makeState(), ended({ cell: 'b' }));
    session.statusChanged.emit('busy');
    expect(runs.find('a')?.state.outcome).toBe('running');
    session.statusChanged.emit('restarting');
    expect(runs.find('a')?.state.outcome).toBe('lost');
    expect(runs.find('a')?.state.ended_at).toBeGreaterThan(1e9);
    expect(runs.find('b')?.state.outcome).toBe('finished');
  });

  it('interrupts a cell that executes, and gives up what another has left', async () => {
    const session = new FakeSession();
    const runs = new CellRuns(session.context);
    session.tell(makeState(), makeState({ cell: 'b', executing: false }));
    await runs.cancel('a');
    expect([session.interrupts, session.sent]).toEqual([
      1,
      [[{ ask: 'cancel', cell: 'a' }, null]]
    ]);
    expect(runs.find('a')?.isCancelling).toBe(true);
    await runs.cancel('b');
    expect(session.interrupts).toBe(1);
    expect(session.sent[1]).toEqual([{ ask: 'cancel', cell: 'b' }, 's1']);
    session.tell(ended({ outcome: 'cancelled' }));
    expect(runs.find('a')?.isCancelling).toBe(false);
  });
});

describe('NotebookStrips', () => {
  it('shows a running cell between its input and its output, and others none', async () => {
    const [notebook, strips] = open();
    notebook.fake.tell(makeState());
    await drawn();
    const [a, b] = notebook.content.widgets;
    expect(b.strip).toBeNull();
    const classes = Array.from(a.node.children, child => child.classList[1]);
    expect(classes).toEqual([
      'jp-Cell-inputWrapper',
      'gl-Strip',
      'jp-Cell-outputWrapper'
    ]);
    const text = a.strip?.textContent ?? '';
    for (const part of [
      'Running',
      '12 of 20 tasks',
      '10 s',
      '4 tasks/s, about 2 s left',
      '3 of 4 workers busy',
      '0.50 / 1.00 GiB',
      '3.00 MiB spilled',
      '<b>sum</b>',
      '2 of 10',
      'and 1 more'
    ]) {
      expect(text).toContain(part);
    }
    expect(a.strip?.querySelector('b')).toBeNull();
    strips.dispose();
    expect(a.strip).toBeNull();
  });

  it('collapses to one line that stays', async () => {
    const [notebook, strips, executed] = open();
    notebook.fake.tell(makeState());
    notebook.fake.tell(
      ended({ tasks: { ...counts(20, 20), failed: 2 }, outcome: 'failed' })
    );
    await drawn();
    const strip = notebook.content.widgets[0].strip;
    expect(strip?.dataset.outcome).toBe('failed');
    expect(strip?.querySelector('.gl-Strip-details')).toBeNull();
    expect(strip?.textContent).toContain('20 tasks');
    expect(strip?.textContent).toContain('12 s');
    expect(strip?.textContent).toContain('2 tasks failed');
    strip?.querySelector<HTMLElement>('.gl-Strip-toggle')?.click();
    await drawn();
    expect(strip?.querySelector('.gl-Strip-details')).not.toBeNull();
    strip?.querySelector<HTMLElement>('[data-action="open"]')?.click();
    expect(executed).toEqual([{ cluster: 'c1', page: 'runs', run: 7 }]);
    strips.dispose();
  });

  it('says how long tasks took on GPUs, where there are any', async () => {
    const [notebook, strips] = open();
    const strip = notebook.content.widgets[0];
    notebook.fake.tell(makeState());
    await drawn();
    expect(strip.strip?.textContent).not.toContain('GPU');
    const tasks = { ...counts(12, 20), device_s: 2.4 };
    const layers = [
      { name: 'load', ...counts(10, 10), device_s: 2.4 },
      { name: 'sum', ...counts(2, 10) }
    ];
    notebook.fake.tell(makeState({ tasks, layers }));
    await drawn();
    expect(strip.strip?.textContent).toContain('2.4 s on the GPU');
    const cells = [...strip.strip!.querySelectorAll('tbody tr')].map(row =>
      Array.from(row.querySelectorAll('td'), cell => cell.textContent)
    );
    expect(cells.map(row => row[3])).toEqual(['2.4 s', '']);
    notebook.fake.tell(
      ended({ tasks: { ...counts(20, 20), device_s: 95 }, layers })
    );
    await drawn();
    expect(strip.strip?.textContent).toContain('1 min 35 s on the GPU');
    strips.dispose();
  });

  it('shows errors and output as text', async () => {
    const [notebook, strips] = open();
    notebook.fake.tell(
      makeState({
        errors: [
          {
            layer: 'load',
            exception: 'ValueError',
            message: '<img src=x>',
            origin: 'cell 1',
            count: 3
          }
        ],
        output: {
          lines: [{ worker: 'w0', level: 'stdout', text: '<i>hello</i>' }],
          count: 9
        }
      })
    );
    await drawn();
    const strip = notebook.content.widgets[0].strip;
    expect(strip?.querySelector('img, i')).toBeNull();
    expect(strip?.textContent).toContain('ValueError: <img src=x>');
    expect(strip?.textContent).toContain('3 in load, built at cell 1');
    expect(strip?.querySelector('pre')?.textContent).toBe(
      '… 8 earlier lines\n(w0) <i>hello</i>'
    );
    strips.dispose();
  });

  it('shows nothing of what is over at once, unless it failed', async () => {
    const [notebook, strips] = open();
    notebook.fake.tell(
      ended({ ended_at: 1000.2 }),
      ended({ cell: 'b', ended_at: 1000.2, outcome: 'failed' })
    );
    await drawn();
    const [a, b] = notebook.content.widgets;
    expect(a.strip).toBeNull();
    expect(b.strip).not.toBeNull();
    strips.dispose();
  });

  it('cancels, once', async () => {
    const [notebook, strips] = open();
    notebook.fake.tell(makeState());
    await drawn();
    const button = (): HTMLButtonElement | null =>
      notebook.content.widgets[0].node.querySelector('[data-action="cancel"]');
    button()?.click();
    await drawn();
    expect(notebook.fake.interrupts).toBe(1);
    expect(button()?.disabled).toBe(true);
    strips.dispose();
  });

  it('gives a moved cell, which has a new widget, its strip again', async () => {
    const [notebook, strips] = open();
    notebook.fake.tell(makeState());
    const moved = new FakeCell('a');
    Widget.attach(moved, document.body);
    notebook.content.widgets.shift()?.dispose();
    notebook.content.widgets.push(moved);
    notebook.content.modelContentChanged.emit();
    await drawn();
    expect(moved.strip).not.toBeNull();
    strips.dispose();
  });

  it('writes into the notebook on request only, and once', async () => {
    const [notebook, strips] = open();
    notebook.fake.tell(makeState());
    notebook.fake.tell(ended());
    await drawn();
    const [a] = notebook.content.widgets;
    expect(a.added).toEqual([]);
    a.strip?.querySelector<HTMLElement>('[data-action="keep"]')?.click();
    expect(a.added.map(({ data }) => data)).toEqual([
      { 'text/plain': expect.stringContaining('Glassloom: Done · 20 tasks') }
    ]);
    strips.dispose();
    const [other, saving] = open({ savesSummary: true });
    other.fake.tell(ended({ cell: 'b' }));
    other.fake.tell(makeState());
    other.fake.tell(ended({ executing: true }));
    expect(other.content.widgets[0].added.length).toBe(0);
    other.fake.tell(ended());
    other.fake.tell(ended());
    expect(other.content.widgets[0].added.length).toBe(1);
    expect(other.content.widgets[1].added.length).toBe(0);
    saving.dispose();
  });

  it('is gone when its cell is executed again or cleared, until the next execution computes something', async () => {
    const [notebook] = open();
    const [cell] = notebook.content.widgets;
    notebook.fake.tell(ended({ execution: 4 }));
    await drawn();
    expect(cell.strip?.textContent).toContain('20 tasks');
    cell.model.execute();
    notebook.fake.tell(ended({ execution: 4, n_runs: 2 }));
    await drawn();
    expect(cell.strip).toBeNull();
    notebook.fake.tell(ended({ execution: 5, tasks: counts(3, 3) }));
    await drawn();
    expect(cell.strip?.textContent).toContain('3 tasks');
    cell.model.clear();
    await drawn();
    expect(cell.strip).toBeNull();
  });

  it('stays when the output of what still runs is cleared', async () => {
    const [notebook] = open();
    const [cell] = notebook.content.widgets;
    notebook.fake.tell(makeState());
    cell.model.clear();
    await drawn();
    expect(cell.strip?.textContent).toContain('12 of 20 tasks');
  });

  it('comes after a restart of the kernel, which counts executions from 1 again', async () => {
    const [notebook] = open();
    const [cell] = notebook.content.widgets;
    notebook.fake.tell(ended());
    notebook.fake.statusChanged.emit('restarting');
    cell.model.execute();
    await drawn();
    expect(cell.strip).toBeNull();
    notebook.fake.tell(makeState());
    await drawn();
    expect(cell.strip?.textContent).toContain('12 of 20 tasks');
  });

  it('says what to do when the kernel speaks another version', async () => {
    const [notebook] = open();
    const [cell] = notebook.content.widgets;
    notebook.fake.tellData({ glassloom_cells: 2, cells: [{ cell: 'a' }] });
    await drawn();
    expect(cell.strip?.textContent).toContain('Update the package glassloom');
  });

  it('can be switched off', async () => {
    const [notebook, strips] = open();
    notebook.fake.tell(makeState());
    await drawn();
    strips.setSettings({ ...SETTINGS, isShown: false });
    expect(notebook.content.widgets[0].strip).toBeNull();
    strips.setSettings(SETTINGS);
    await drawn();
    expect(notebook.content.widgets[0].strip).not.toBeNull();
    strips.dispose();
  });
});

describe('the text of a strip', () => {
  it('says times and rates as a person does', () => {
    expect([0.04, 9.96, 95, 7325].map(formatSeconds)).toEqual([
      '0.0 s',
      '10 s',
      '1 min 35 s',
      '2 h 2 min'
    ]);
    expect(
      describeRate(trans, { ...counts(1, 2), rate: 0.5, eta_s: null })
    ).toBe('30 tasks/min');
    expect(describeRate(trans, { ...counts(1, 2), rate: null })).toBe('');
  });

  it('is true whenever it is read', () => {
    expect(staticSummary(trans, ended(), 0)).toBe(
      'Glassloom: Done · 20 tasks · 12 s · 512 MiB memory at most · 1970-01-01 00:16 UTC'
    );
  });
});
