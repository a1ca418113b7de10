import { RequestRefused } from '../request';
import { IStart, IState } from '../tokens';
import { FakeSocket, json, makeCluster, makeModels, settle } from './fakes';

const CLUSTERS = '/user/someone/glassloom/api/clusters';

describe('Clusters', () => {
  it('follow the stream of the server that serves the page', () => {
    const { stream, clusters, dispose } = makeModels();
    expect(FakeSocket.last.url).toBe(
      'ws://localhost/user/someone/glassloom/api/metrics'
    );
    expect(stream.connection).toBe('connecting');
    FakeSocket.last.tell(makeCluster());
    expect(stream.connection).toBe('connected');
    expect(clusters.all.map(({ id }) => id)).toEqual(['c1']);
    dispose();
    expect(FakeSocket.last.isClosed).toBe(true);
  });

  it('take a person’s choice for the active one, else that of the notebook in front, else the newest', () => {
    const { clusters, notebooks, dispose } = makeModels();
    expect(clusters.active).toBeNull();
    FakeSocket.last.tell(
      makeCluster({ id: 'a' }),
      makeCluster({ id: 'b', notebook: 'x/y.ipynb' }),
      makeCluster({ id: 'c' })
    );
    expect(clusters.active?.id).toBe('c');
    notebooks.show('x/y.ipynb');
    expect(clusters.active?.id).toBe('b');
    clusters.activate('a');
    expect(clusters.active?.id).toBe('a');
    FakeSocket.last.tell(makeCluster({ id: 'c' }));
    expect(clusters.active?.id).toBe('c');
    dispose();
  });

  it('make a cluster that was started from here the active one when it comes', async () => {
    const { clusters, calls, dispose } = makeModels({
      [`POST ${CLUSTERS}`]: json({ id: 's1', name: 'mine' }, 202)
    });
    await clusters.start({ name: 'mine', n_workers: 3 });
    expect(calls.find(({ method }) => method === 'POST')?.body).toBe(
      '{"name":"mine","n_workers":3}'
    );
    FakeSocket.last.tell(
      makeCluster({ id: 'a', start: 's1' }),
      makeCluster({ id: 'b' })
    );
    expect(clusters.active?.id).toBe('a');
    dispose();
  });

  it('follow the notebook again after a start, once another one that has a cluster is in front', async () => {
    const { clusters, notebooks, dispose } = makeModels({
      [`POST ${CLUSTERS}`]: json({ id: 's1', name: 'mine' }, 202)
    });
    const a = makeCluster({ id: 'a', notebook: 'a.ipynb' });
    const b = makeCluster({ id: 'b', notebook: 'b.ipynb' });
    const mine = makeCluster({ id: 'mine', start: 's1' });
    notebooks.show('a.ipynb');
    await clusters.start({ name: 'mine' });
    FakeSocket.last.tell(a, b, mine);
    expect(clusters.active?.id).toBe('mine');
    notebooks.show('without a cluster.ipynb');
    notebooks.show('a.ipynb');
    expect(clusters.active?.id).toBe('mine');
    notebooks.show('b.ipynb');
    expect(clusters.active?.id).toBe('b');
    notebooks.show('a.ipynb');
    expect(clusters.active?.id).toBe('a');
    clusters.activate('mine');
    notebooks.show('b.ipynb');
    expect(clusters.active?.id).toBe('mine');
    dispose();
  });

  describe('tell what became of a start', () => {
    const start = {
      id: 's1',
      name: 'mine',
      state: 'starting' as const,
      problem: '',
      cluster: null
    };

    async function outcome(
      ...states: Partial<IState>[]
    ): Promise<IStart | null | 'open'> {
      const { clusters, dispose } = makeModels();
      FakeSocket.last.tellState({});
      let told: IStart | null | 'open' = 'open';
      void clusters.outcomeOf('s1', 10_000).then(found => (told = found));
      for (const state of states) {
        FakeSocket.last.tellState(state);
      }
      await settle();
      dispose();
      return told;
    }

    it.each<[string, Partial<IState>[], object | null | 'open']>([
      ['it goes on', [{ starts: [start] }], 'open'],
      ['it was not told yet', [{ starts: [{ ...start, id: 's2' }] }], 'open'],
      [
        'it has failed',
        [
          { starts: [start] },
          { starts: [{ ...start, state: 'failed', problem: 'no memory' }] }
        ],
        { ...start, state: 'failed', problem: 'no memory' }
      ],
      ['it is a cluster', [{ clusters: [makeCluster({ start: 's1' })] }], null],
      ['somebody gave it up', [{ starts: [start] }, { starts: [] }], null]
    ])('when %s', async (_, states, expected) => {
      expect(await outcome(...states)).toEqual(expected);
    });

    it('when nothing was heard for too long', async () => {
      jest.useFakeTimers();
      const { clusters, dispose } = makeModels();
      FakeSocket.last.tellState({ starts: [start] });
      let told: unknown = 'open';
      void clusters.outcomeOf('s1', 10_000).then(found => (told = found));
      jest.advanceTimersByTime(9_999);
      await settle();
      expect(told).toBe('open');
      jest.advanceTimersByTime(1);
      await settle();
      expect(told).toBeNull();
      dispose();
      jest.useRealTimers();
    });
  });

  it('hand on why the server refused to start a cluster', async () => {
    const message = 'memory_limit must be a number of bytes; got "lots"';
    const { clusters, dispose } = makeModels({
      [`POST ${CLUSTERS}`]: json({ message }, 400)
    });
    await expect(clusters.start({})).rejects.toEqual(
      new RequestRefused(message, 400)
    );
    dispose();
  });

  it('are asked for things below their own address, with what became of it as the answer', async () => {
    const outcome = json({ outcome: 'Done.' });
    const { clusters, calls, dispose } = makeModels({
      [`POST ${CLUSTERS}/c1/scale`]: outcome,
      [`POST ${CLUSTERS}/c1/adapt`]: outcome,
      [`POST ${CLUSTERS}/c1/restart`]: outcome,
      [`POST ${CLUSTERS}/c1/rename`]: outcome
    });
    expect(await clusters.scale('c1', 4)).toBe('Done.');
    await clusters.adapt('c1', { minimum: 1, maximum: 8 });
    await clusters.adapt('c1', null);
    await clusters.restart('c1');
    await clusters.rename('c1', 'other');
    expect(
      calls
        .filter(({ method }) => method === 'POST')
        .map(({ path, body }) => [path.replace(`${CLUSTERS}/`, ''), body])
    ).toEqual([
      ['c1/scale', '{"n":4}'],
      ['c1/adapt', '{"minimum":1,"maximum":8}'],
      ['c1/adapt', '{}'],
      ['c1/restart', '{}'],
      ['c1/rename', '{"name":"other"}']
    ]);
    dispose();
  });

  it('are marked as shutting down until they are gone', async () => {
    const { clusters, calls, dispose } = makeModels({
      [`DELETE ${CLUSTERS}/c1`]: () => new Response(null, { status: 204 })
    });
    FakeSocket.last.tell(makeCluster());
    const ended = clusters.shutDown('c1');
    expect(clusters.shutDown('c1')).toBe(ended);
    await settle();
    expect(calls.filter(({ method }) => method === 'DELETE').length).toBe(1);
    FakeSocket.last.tellChanges({ clusters: { c1: { workers: 1 } } });
    await settle();
    expect(clusters.isShuttingDown('c1')).toBe(true);
    FakeSocket.last.tellChanges({ clusters: { c1: null } });
    await ended;
    expect(clusters.isShuttingDown('c1')).toBe(false);
    dispose();
  });

  it('lose the mark, and a person hears why, when one does not end', async () => {
    jest.useFakeTimers();
    const { clusters, dispose } = makeModels({
      [`DELETE ${CLUSTERS}/c1`]: () => new Response(null, { status: 204 })
    });
    FakeSocket.last.tell(makeCluster());
    const ended = clusters.shutDown('c1');
    const failed = expect(ended).rejects.toThrow(
      'it has not ended within 15 s'
    );
    await settle();
    let changes = 0;
    clusters.changed.connect(() => changes++);
    jest.advanceTimersByTime(14_999);
    await settle();
    expect([clusters.isShuttingDown('c1'), changes]).toEqual([true, 0]);
    jest.advanceTimersByTime(1);
    await failed;
    expect([clusters.isShuttingDown('c1'), changes]).toEqual([false, 1]);
    dispose();
    jest.useRealTimers();
  });

  it('lose the mark when the server refuses to shut down', async () => {
    const { clusters, dispose } = makeModels({
      [`DELETE ${CLUSTERS}/c1`]: () => new Response('no', { status: 502 })
    });
    FakeSocket.last.tell(makeCluster());
    await expect(clusters.shutDown('c1')).rejects.toThrow('no');
    expect(clusters.isShuttingDown('c1')).toBe(false);
    dispose();
  });
});
