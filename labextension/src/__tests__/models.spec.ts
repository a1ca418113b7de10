import { AlertFinder } from '../model/alerts';
import { connectionCode, referenceOf } from '../model/insertion';
import { arrangementOf, DockArea, layoutsOf, stepsOf } from '../model/layouts';
import { grouped } from '../model/pages';
import { formSchema, mergedProfiles, requestOf } from '../model/profiles';
import { Resolver } from '../model/resolver';
import { csvOf, runsOf } from '../model/runs';
import { keyOf, lastingTarget, renamed, targetOf } from '../model/targets';
import {
  FakeSocket,
  json,
  makeCluster,
  makeModels,
  makeRecording,
  makeRun,
  settle
} from './fakes';

const API = '/user/someone/glassloom/api';

describe('Targets', () => {
  it('are read from reprs and saved workspaces, which may hold anything', () => {
    expect(targetOf({ kind: 'cluster', id: 'c1' })).toEqual({
      kind: 'cluster',
      id: 'c1'
    });
    expect(targetOf({ kind: 'notebook', path: 'a b/ü.ipynb' })).toEqual({
      kind: 'notebook',
      path: 'a b/ü.ipynb'
    });
    expect(targetOf({ kind: 'active', id: 'x' })).toEqual({ kind: 'active' });
    for (const bad of [
      null,
      'c1',
      { kind: 'cluster', id: '../../x' },
      { kind: 'notebook' },
      { kind: 'other', id: 'c1' }
    ]) {
      expect(targetOf(bad)).toBeNull();
    }
  });

  it('of a notebook’s newest cluster is the notebook; of an older one, the cluster', () => {
    const old = makeCluster({ id: 'old', notebook: 'a.ipynb' });
    const young = makeCluster({ id: 'young', notebook: 'a.ipynb' });
    const all = [old, young, makeCluster({ id: 'script' })];
    expect(all.map(each => keyOf(lastingTarget(each, all)))).toEqual([
      'old',
      'notebook-a.ipynb',
      'script'
    ]);
  });

  it('go with a file that is renamed, and with a folder', () => {
    const target = { kind: 'notebook', path: 'a/b.ipynb' } as const;
    expect(renamed(target, 'a/b.ipynb', 'c.ipynb')).toMatchObject({
      path: 'c.ipynb'
    });
    expect(renamed(target, 'a', 'z')).toMatchObject({ path: 'z/b.ipynb' });
    expect(renamed(target, 'a/b', 'z')).toBe(target);
  });

  it('that are recordings are opened once, and have a name before the stream tells of them', async () => {
    const { clusters, recordings, calls, dispose } = makeModels({
      [`POST ${API}/recordings`]: json({ id: 'recording-7' }, 201)
    });
    FakeSocket.last.tell();
    const resolver = new Resolver(clusters, recordings);
    const target = { kind: 'recording', path: 'runs/x.glr' } as const;
    expect(resolver.resolve(target)).toBeNull();
    const opened = resolver.prepare(target);
    expect(resolver.isComing(target)).toBe(true);
    await Promise.all([opened, resolver.prepare(target)]);
    expect(resolver.resolve(target)).toEqual({
      id: 'recording-7',
      name: 'x.glr'
    });
    expect(calls.filter(({ method }) => method === 'POST').length).toBe(1);
    FakeSocket.last.tellState({
      recordings: [makeRecording({ id: 'recording-7', name: 'run' })]
    });
    expect(resolver.resolve(target)?.name).toBe('run');
    FakeSocket.last.tellState({ recordings: [] });
    expect(resolver.resolve(target)).toBeNull();
    dispose();
  });

  it('that cannot be opened have the server’s reason', async () => {
    const { clusters, recordings, dispose } = makeModels({
      [`POST ${API}/recordings`]: json({ message: 'x.glr is damaged' }, 400)
    });
    const resolver = new Resolver(clusters, recordings);
    const target = { kind: 'recording', path: 'x.glr' } as const;
    await resolver.prepare(target);
    expect(resolver.problemOf(target)).toBe('x.glr is damaged');
    dispose();
  });
});

describe('Alerts', () => {
  const finder = (
    ...states: Parameters<typeof makeCluster>[0][]
  ): string[][] => {
    const found = new AlertFinder();
    return states.map(state =>
      found.find([makeCluster(state)]).map(({ kind }) => kind)
    );
  };

  it('say nothing of what was so before', () => {
    const full = { memory_bytes: 1000, spilled_bytes: 9, workers_lost: 3 };
    expect(finder(full, full)).toEqual([[], ['memoryNearLimit']]);
  });

  it('come once for memory that goes up and down at the limit', () => {
    const kinds = finder(
      {},
      { memory_bytes: 950 },
      { memory_bytes: 900 },
      { memory_bytes: 960 },
      { memory_bytes: 100 },
      { memory_bytes: 960 }
    );
    expect(kinds.map(({ length }) => length)).toEqual([0, 1, 0, 0, 0, 1]);
  });

  it('come once for spilling, until nothing is on disk any more', () => {
    const kinds = finder(
      {},
      { spilled_bytes: 1 },
      { spilled_bytes: 2 },
      { spilled_bytes: 0 },
      { spilled_bytes: 1 }
    );
    expect(kinds).toEqual([[], ['spilling'], [], [], ['spilling']]);
  });

  it('count workers that died', () => {
    const alerts = new AlertFinder();
    alerts.find([makeCluster({ workers_lost: 1 })]);
    expect(alerts.find([makeCluster({ workers_lost: 3 })])).toMatchObject([
      { kind: 'workerDied', count: 2 }
    ]);
  });

  it('come for runs of some length that ran before and have ended', () => {
    const run = (ended_at: number | null, outcome = 'running'): object => ({
      runs: [makeRun({ started_at: 0, ended_at, outcome: outcome as never })]
    });
    expect(finder(run(null), run(30, 'finished'), run(30, 'finished'))).toEqual(
      [[], ['runEnded'], []]
    );
    expect(finder(run(null), run(9, 'finished'))[1]).toEqual([]);
    expect(finder(run(null), run(30, 'cancelled'))[1]).toEqual([]);
    expect(finder({}, run(30, 'failed'))[1]).toEqual([]);
  });
});

describe('Layouts', () => {
  const dock: DockArea<string> = {
    type: 'split-area',
    orientation: 'horizontal',
    sizes: [1, 1],
    children: [
      { type: 'tab-area', widgets: ['notebook', 'gl-logs'], currentIndex: 0 },
      {
        type: 'split-area',
        orientation: 'vertical',
        sizes: [1, 1, 1],
        children: [
          {
            type: 'tab-area',
            widgets: ['gl-status', 'gl-memory'],
            currentIndex: 0
          },
          { type: 'tab-area', widgets: ['terminal'], currentIndex: 0 },
          { type: 'tab-area', widgets: ['gl-progress'], currentIndex: 0 }
        ]
      }
    ]
  };
  const pageOf = (widget: string): string | null =>
    widget.startsWith('gl-') ? widget.slice(3) : null;

  it('hold our panes only', () => {
    expect(arrangementOf(dock, pageOf)).toEqual({
      split: 'horizontal',
      areas: [
        { pages: ['logs'] },
        {
          split: 'vertical',
          areas: [{ pages: ['status', 'memory'] }, { pages: ['progress'] }]
        }
      ]
    });
    expect(arrangementOf(dock, () => null)).toBeNull();
  });

  it('are put again area by area, each beside one that stands already', () => {
    const steps = stepsOf(arrangementOf(dock, pageOf) as never);
    expect(steps.map(({ page, mode, ref }) => [page, mode, ref])).toEqual([
      ['logs', 'split-right', null],
      ['status', 'split-right', 'logs'],
      ['progress', 'split-bottom', 'status'],
      ['memory', 'tab-after', 'status']
    ]);
  });

  it('that a setting holds and are none are left out', () => {
    const good = { name: 'a', arrangement: { pages: ['status'] } };
    expect(
      layoutsOf([good, null, 3, { name: 'b' }, { name: 'c', arrangement: {} }])
    ).toEqual([good]);
    expect(layoutsOf('x')).toEqual([]);
  });
});

describe('Pages', () => {
  const pages = ['status', 'memory', 'gpu', 'brand-new'].map(id => ({
    id,
    title: id.toUpperCase(),
    description: `about ${id}`,
    group: id === 'status' ? 'overview' : id
  }));

  it('are in groups, favourites first, unknown ones last', () => {
    const groups = grouped(pages, ['gpu', 'gone']);
    expect(groups.map(({ id, pages }) => [id, pages.length])).toEqual([
      ['favourites', 1],
      ['overview', 1],
      ['memory', 1],
      ['gpu', 1],
      ['more', 1]
    ]);
  });

  it('are found by all words of a search', () => {
    const ids = grouped(pages, [], 'ABOUT mem').flatMap(group =>
      group.pages.map(({ id }) => id)
    );
    expect(ids).toEqual(['memory']);
  });
});

describe('Profiles', () => {
  it('make a form without references, nulls and the profile itself', () => {
    const schema = formSchema({
      schema: {
        $ref: '#/$defs/StartRequest',
        $defs: {
          StartRequest: {
            type: 'object',
            properties: {
              profile: { type: 'string' },
              n_workers: {
                anyOf: [{ type: 'integer', minimum: 1 }, { type: 'null' }],
                default: null
              },
              kernel_name: { anyOf: [{ type: 'string' }, { type: 'null' }] },
              name: { $ref: '#/$defs/Name' }
            }
          },
          Name: { type: 'string', maxLength: 200 }
        }
      },
      profiles: [],
      kernels: [{ name: 'python3', title: 'Python 3' }]
    });
    expect(schema.properties).toEqual({
      name: { type: 'string', title: 'Name' },
      n_workers: { type: 'integer', title: 'N workers' },
      kernel_name: {
        type: 'string',
        title: 'Kernel name',
        oneOf: [{ const: 'python3', title: 'Python 3' }]
      }
    });
  });

  it('make a field of a number that is only bounded below', () => {
    const { properties } = formSchema({
      schema: {
        type: 'object',
        properties: { n_workers: { type: 'integer', minimum: 1, default: 0 } }
      },
      profiles: [],
      kernels: []
    });
    expect(properties).toEqual({
      n_workers: { type: 'integer', title: 'N workers', default: 0 }
    });
  });

  it('of the settings count before those of the server', () => {
    const server = [
      { name: 'small', title: 'Small', description: '', values: {} },
      { name: 'big', title: 'Big', description: '', values: {} }
    ];
    const own = [{ name: 'big', values: { n_workers: 8 } }, 'nonsense'];
    expect(
      mergedProfiles(server, own).map(({ name, values }) => [name, values])
    ).toEqual([
      ['small', {}],
      ['big', { n_workers: 8 }]
    ]);
  });

  it('leave out of a request what was not filled in', () => {
    expect(
      requestOf({
        name: ' mine ',
        n_workers: 3,
        memory_limit: ' ',
        maximum: null
      })
    ).toEqual({ name: 'mine', n_workers: 3 });
  });
});

describe('Runs', () => {
  it('of all clusters are in order, the newest first', () => {
    const runs = runsOf([
      makeCluster({ id: 'a', runs: [makeRun({ id: '1', started_at: 5 })] }),
      makeCluster({ id: 'b', runs: [makeRun({ id: '2', started_at: 9 })] })
    ]);
    expect(runs.map(({ id, cluster }) => [id, cluster.id])).toEqual([
      ['2', 'b'],
      ['1', 'a']
    ]);
  });

  it('of a notebook are those that say so, and those of its cluster that say nothing', () => {
    const { runs, dispose } = makeModels();
    FakeSocket.last.tell(
      makeCluster({
        notebook: 'a.ipynb',
        runs: [makeRun({ id: '1' }), makeRun({ id: '2', notebook: 'b.ipynb' })]
      })
    );
    expect(runs.ofNotebook('a.ipynb').map(({ id }) => id)).toEqual(['1']);
    dispose();
  });

  it('are a table that no spreadsheet takes for formulas', () => {
    const run = makeRun({
      label: '=HYPERLINK("x"),y',
      started_at: 0,
      ended_at: 1.5,
      outcome: 'finished'
    });
    const [, row] = csvOf(runsOf([makeCluster({ runs: [run] })])).split('\r\n');
    expect(row).toBe(
      'loom,1,compute,"\'=HYPERLINK(""x""),y",,1970-01-01T00:00:00.000Z,1.500,finished,3,12'
    );
  });
});

describe('Recordings', () => {
  it('are gone from the list at once when they are closed', async () => {
    const path = `${API}/recordings/recording-1`;
    const { recordings, calls, dispose } = makeModels({
      [`DELETE ${path}`]: () => new Response(null, { status: 204 })
    });
    FakeSocket.last.tellState({ recordings: [makeRecording()] });
    expect(recordings.find('recording-1')?.name).toBe('loom (run.glr)');
    await recordings.close('recording-1');
    expect(calls.at(-1)).toMatchObject({ method: 'DELETE', path });
    expect(recordings.open).toEqual([]);
    dispose();
  });

  it('are looked for on disk', async () => {
    const file = {
      path: 'x.glr',
      name: 'x.glr',
      bytes: 3,
      modified_at: 0,
      problem: ''
    };
    const { recordings, dispose } = makeModels({
      [`GET ${API}/recordings`]: json({ recordings: [file], directory: '/r' })
    });
    let isShown = false;
    recordings.watch(() => isShown);
    await recordings.refresh();
    await settle();
    expect(recordings.files).toEqual([]);
    isShown = true;
    await recordings.refresh();
    await settle();
    expect([recordings.files, recordings.directory]).toEqual([[file], '/r']);
    dispose();
  });

  it('are not looked for while nobody can see them', async () => {
    jest.useFakeTimers();
    const { recordings, calls, dispose } = makeModels();
    const asked = (): number =>
      calls.filter(({ path }) => path === `${API}/recordings`).length;
    let isShown = true;
    recordings.watch(() => isShown);
    await jest.advanceTimersByTimeAsync(40_000);
    const before = asked();
    expect(before).toBeGreaterThan(0);
    isShown = false;
    await jest.advanceTimersByTimeAsync(300_000);
    expect(asked()).toBe(before);
    dispose();
    jest.useRealTimers();
  });
});

describe('The list of pages', () => {
  it('is asked for again with the next connection if it could not be had', async () => {
    const warn = jest.spyOn(console, 'warn').mockImplementation();
    let answer = json({}, 503);
    const { pages, dispose } = makeModels({
      [`GET ${API}/pages`]: () => answer()
    });
    await settle();
    expect(pages.all).toEqual([]);
    expect(warn).toHaveBeenCalledTimes(1);
    const known = [{ id: 'status', title: 'Status', description: '' }];
    answer = json({ pages: known });
    FakeSocket.last.tell();
    await settle();
    expect(pages.all).toEqual(known);
    dispose();
    warn.mockRestore();
  });
});

describe('The code that connects', () => {
  it('names a cluster by its id where another one has its name', () => {
    const all = [
      makeCluster({ id: 'a', name: 'twin' }),
      makeCluster({ id: 'b', name: 'twin' }),
      makeCluster({ id: 'c', name: 'alone' })
    ];
    expect(all.map(each => referenceOf(each, all))).toEqual([
      'a',
      'b',
      'alone'
    ]);
  });

  it('holds any name as a string of Python', () => {
    expect(connectionCode('a "b"\n\\c')).toBe(
      'from glassloom import Client\n\nclient = Client("a \\"b\\"\\n\\\\c")\nclient'
    );
  });
});
