import { PanelWithToolbar } from '@jupyterlab/ui-components';
import { Widget } from '@lumino/widgets';
import { nullTranslator } from '@jupyterlab/translation';
import { Preferences } from '../model/preferences';
import { DashboardsSection } from '../panels/dashboards';
import { GlassloomPanel } from '../panels/panel';
import { IRunsOptions, RunsSection } from '../panels/runs';
import {
  FakeSocket,
  IModels,
  makeCluster,
  makeExport,
  makeModels,
  makeRun,
  trans
} from './fakes';
import { actionsOf, redrawn, setUp, show } from './sections';

describe('The section of dashboards', () => {
  async function showDashboards(
    models: IModels,
    told: unknown[]
  ): Promise<[DashboardsSection, Preferences]> {
    const preferences = new Preferences(() => Promise.resolve(null));
    const section = new DashboardsSection({
      ...models,
      trans,
      preferences,
      onApproach: () => told.push(['approach']),
      onOpen: page => told.push(['open', page]),
      onDrag: () => undefined,
      onToggleFavourite: page => void preferences.toggleFavourite(page),
      onOpenLayout: name => told.push(['layout', name]),
      onDeleteLayout: name => void preferences.deleteLayout(name)
    });
    await show(section);
    // The list of pages has come, and React has drawn it, however busy the machine is.
    while (section.node.querySelector('.gl-Page') === null) {
      await redrawn(section);
    }
    return [section, preferences];
  }

  it('says what drawing dashboards takes, while their process runs', async () => {
    const { told, ...models } = setUp();
    const [section] = await showDashboards(models, told);
    const overhead = (): string | null | undefined =>
      section.node.querySelector('.gl-Dashboards-overhead')?.textContent;
    const dashboards = { cpu_percent: 12.3, memory_bytes: 128 * 1024 ** 2 };
    FakeSocket.last.tellState({ dashboards });
    await redrawn(section);
    expect(overhead()).toBe('Drawing: 12 % CPU, 128 MiB');
    FakeSocket.last.tellChanges({ starts: [] });
    await redrawn(section);
    expect(overhead()).toBe('Drawing: 12 % CPU, 128 MiB');
    FakeSocket.last.tellChanges({ dashboards: null });
    await redrawn(section);
    expect(overhead()).toBeUndefined();
    section.dispose();
  });

  it.each(['pointerover', 'focusin'])(
    'tells of a page that is about to be opened: %s',
    async kind => {
      const { told, ...models } = setUp();
      const [section] = await showDashboards(models, told);
      FakeSocket.last.tell(makeCluster({ id: 'a' }));
      await redrawn(section);
      told.length = 0;
      const page = section.node.querySelector('[data-page="task-stream"]');
      page?.dispatchEvent(new Event(kind, { bubbles: true }));
      expect(told).toEqual([['approach']]);
      section.dispose();
    }
  );

  it('tells once of each cluster that has its pages listed, and of none while it is hidden', async () => {
    const { told, ...models } = setUp();
    const [section] = await showDashboards(models, told);
    expect(told).toEqual([]);
    section.hide();
    FakeSocket.last.tell(makeCluster({ id: 'a' }));
    await redrawn(section);
    expect(told).toEqual([]);
    section.show();
    await redrawn(section);
    expect(told).toEqual([['approach']]);
    FakeSocket.last.tell(makeCluster({ id: 'a', name: 'renamed' }));
    await redrawn(section);
    expect(told).toEqual([['approach']]);
    FakeSocket.last.tell(makeCluster({ id: 'b' }));
    await redrawn(section);
    expect(told).toEqual([['approach'], ['approach']]);
    section.dispose();
  });

  it('opens a page of the active cluster, and nothing without one', async () => {
    const { told, ...models } = setUp();
    const [section] = await showDashboards(models, told);
    const button = (): HTMLButtonElement | null =>
      section.node.querySelector('[data-page="task-stream"]');
    expect(button()?.disabled).toBe(true);
    button()?.dispatchEvent(new Event('pointerover', { bubbles: true }));
    expect(told).toEqual([]);
    FakeSocket.last.tell(makeCluster({ id: 'a' }));
    await redrawn(section);
    told.length = 0;
    button()?.click();
    expect(told).toEqual([['open', 'task-stream']]);
    section.dispose();
  });

  it('lists favourites first, and layouts last', async () => {
    const { told, ...models } = setUp();
    const [section, preferences] = await showDashboards(models, told);
    FakeSocket.last.tell(makeCluster());
    section.node
      .querySelector<HTMLElement>('.gl-PageRow [data-action="favourite"]')
      ?.click();
    await preferences.saveLayout({
      name: 'mine',
      arrangement: { pages: ['status'] }
    });
    while (section.node.querySelector('[data-layout="mine"]') === null) {
      await redrawn(section);
    }
    const groups = Array.from(
      section.node.querySelectorAll<HTMLElement>('[data-group]'),
      ({ dataset }) => dataset.group
    );
    expect(groups).toEqual(['favourites', 'overview', 'tasks', 'layouts']);
    told.length = 0;
    section.node.querySelector<HTMLElement>('[data-layout="mine"]')?.click();
    expect(told).toEqual([['layout', 'mine']]);
    section.dispose();
  });
});

function makeRuns(
  models: IModels,
  options: Partial<IRunsOptions> = {}
): RunsSection {
  const nothing = (): void => undefined;
  return new RunsSection({
    ...models,
    trans,
    onOpen: nothing,
    onCompare: nothing,
    onReplay: nothing,
    onExport: nothing,
    onOpenExport: nothing,
    onDownloadExport: nothing,
    onDismissExport: nothing,
    ...options
  });
}

describe('Exports', () => {
  it('say how they stand, and offer what was made', async () => {
    const { told, ...models } = setUp();
    const section = makeRuns(models, {
      onOpenExport: id => told.push(id),
      onDismissExport: id => told.push(`without ${id}`)
    });
    const node = await show(section);
    const done = { state: 'done' as const, output: 'run.html' };
    FakeSocket.last.tellState({
      exports: [
        makeExport({ id: 'a', to: 'report', ...done }),
        makeExport({ id: 'b', to: 'parquet', ...done }),
        makeExport({ id: 'c', state: 'failed', problem: 'disk <full>' }),
        makeExport({ id: 'd', started_at: models.stream.clock.nowMs / 1000 })
      ]
    });
    await redrawn(section);
    const rows = Array.from(
      node.querySelectorAll<HTMLElement>('[data-export]'),
      row => [
        row.dataset.export,
        row.querySelector('[role="status"]')?.textContent,
        actionsOf(
          row.parentElement as HTMLElement,
          `[data-export="${row.dataset.export}"]`
        )
      ]
    );
    const [open, download, dismiss] = ['open', 'download', 'dismiss'].map(
      action => `${action}-export`
    );
    expect(rows).toEqual([
      ['d', 'Exporting…', [dismiss]],
      ['c', 'disk <full>', [dismiss]],
      ['b', 'run.html', [open, dismiss]],
      ['a', 'run.html', [open, download, dismiss]]
    ]);
    for (const action of [open, dismiss]) {
      node
        .querySelector<HTMLElement>(
          `[data-export="a"] [data-action="${action}"]`
        )
        ?.click();
    }
    expect(told).toEqual(['a', 'without a']);
    section.dispose();
  });
});

describe('The section of runs', () => {
  it('does not say that nothing was computed where the server has nobody who knew', async () => {
    const models = makeModels({
      'GET /user/someone/glassloom/api/pages': () =>
        new Response('<!DOCTYPE HTML>', { status: 404 })
    });
    const section = makeRuns(models);
    const node = await show(section);
    FakeSocket.last.onclose?.();
    await redrawn(section);
    expect(models.stream.isMissing).toBe(true);
    expect(node.textContent).toBe('');
    section.dispose();
    models.dispose();
  });

  it('says that those of clusters that have ended are not known', async () => {
    const { told, ...models } = setUp();
    const section = makeRuns(models);
    const node = await show(section);
    const text = async (): Promise<string | null> => {
      await redrawn(section);
      return node.querySelector('.gl-Hint')?.textContent ?? null;
    };
    models.notebooks.show('a.ipynb');
    FakeSocket.last.tell(makeCluster({ id: 'a', notebook: 'a.ipynb' }));
    expect(await text()).toBe('Nothing was computed yet.');
    FakeSocket.last.tell(makeCluster({ id: 'b', notebook: 'b.ipynb' }));
    expect(await text()).toContain('ended are no longer known');
    models.notebooks.show('b.ipynb');
    expect(await text()).toBe('Nothing was computed yet.');
    expect(told).toEqual([]);
    section.dispose();
  });

  it('shows those of the notebook in front, or all', async () => {
    const { told, ...models } = setUp();
    const section = makeRuns(models, { onOpen: id => told.push(id) });
    const node = await show(section);
    FakeSocket.last.tell(
      makeCluster({
        id: 'a',
        notebook: 'a.ipynb',
        runs: [makeRun({ label: 'of a' })]
      }),
      makeCluster({ id: 'b', runs: [makeRun({ label: 'of b' })] })
    );
    await redrawn(section);
    expect(node.querySelectorAll('.gl-Run').length).toBe(2);
    models.notebooks.show('a.ipynb');
    await redrawn(section);
    const labels = (): unknown[] =>
      Array.from(
        node.querySelectorAll('.gl-Run-label'),
        each => each.textContent
      );
    expect(labels()).toEqual(['of a']);
    expect(
      node.querySelector('[role="progressbar"]')?.getAttribute('aria-valuenow')
    ).toBe('25');
    node
      .querySelector<HTMLElement>('.gl-Choice [aria-pressed="false"]')
      ?.click();
    await redrawn(section);
    expect(labels().length).toBe(2);
    node.querySelector<HTMLElement>('.gl-Run-open')?.click();
    expect(told).toEqual(['a']);
    section.dispose();
  });
});

describe('Two runs', () => {
  it('are compared when both are selected, the older one first', async () => {
    const { told, ...models } = setUp();
    const section = makeRuns(models, {
      onCompare: (one, other) => told.push([one.id, other.id])
    });
    const node = await show(section);
    const runs = ['3', '2', '1'].map(id =>
      makeRun({ id, label: `run ${id}`, started_at: Number(id) })
    );
    FakeSocket.last.tell(
      makeCluster({ id: 'a', runs }),
      makeCluster({
        id: 'b',
        name: 'other',
        runs: [makeRun({ id: '9', started_at: 0 })]
      })
    );
    await redrawn(section);
    const press = async (run: string): Promise<void> => {
      node
        .querySelector<HTMLElement>(
          `[data-run="${run}"] [data-action="select"]`
        )
        ?.click();
      await redrawn(section);
    };
    const words = (): string | null | undefined =>
      node.querySelector('.gl-Selection-words')?.textContent;
    await press('3');
    expect(words()).toBe('Select a second run to compare with run 3.');
    expect(node.querySelector('[data-action="compare"]')).toBeNull();
    await press('9'); // of another cluster
    expect(words()).toBe('sum (other) and run 3 (loom)');
    await press('1');
    await press('2');
    expect(words()).toBe('run 1 and run 2');
    node.querySelector<HTMLElement>('[data-action="compare"]')?.click();
    expect(told).toEqual([['1', '2']]);
    node.querySelector<HTMLElement>('[data-action="select-none"]')?.click();
    await redrawn(section);
    expect(words()).toBeUndefined();
    section.dispose();
  });
});

describe('The panel', () => {
  function makePanel({ stream }: IModels): GlassloomPanel {
    return new GlassloomPanel({
      stream,
      trans,
      translator: nullTranslator
    });
  }

  it('orders sections by rank, whenever they come and wherever they were', () => {
    const panel = makePanel(setUp());
    const entries: unknown[] = [];
    panel.sectionAdded.connect((_, { id }) => entries.push(id));
    for (const [id, rank] of [
      ['c', 3],
      ['a', 1],
      ['b', 2]
    ] as const) {
      panel.addSection({ id, title: id, widget: new Widget(), rank });
    }
    const titles = (): string[] => panel.widgets.map(each => each.title.label);
    expect(titles()).toEqual(['a', 'b', 'c']);
    expect(entries).toEqual(['c', 'a', 'b']);
    // The keyboard goes by the order of nodes.
    const nodes = panel.node.querySelectorAll('.lm-AccordionPanel-title');
    expect(Array.from(nodes, node => node.textContent)).toEqual([
      'a',
      'b',
      'c'
    ]);
    const moved = panel.removeSectionById('a') as PanelWithToolbar;
    expect(titles()).toEqual(['b', 'c']);
    panel.reinsertSection(moved);
    expect(titles()).toEqual(['a', 'b', 'c']);
    expect(panel.getSections().map(({ titleNode }) => titleNode.title)).toEqual(
      ['', '', '']
    );
    panel.dispose();
  });

  it('says once, above all sections, that the connection is lost', () => {
    const panel = makePanel(setUp());
    const problem = (): string | null | undefined =>
      panel.node.querySelector('.gl-Problem')?.textContent;
    FakeSocket.last.tell();
    expect(problem()).toBe('');
    FakeSocket.last.onclose?.();
    expect(problem()).toContain('No connection to the Jupyter server');
    panel.dispose();
  });
});
