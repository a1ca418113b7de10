import { referenceOf } from '../model/insertion';
import { IPosition, Message, read } from '../model/state';
import { SILENCE_MS } from '../model/stream';
import { FakeSocket, makeCluster, makeModels } from './fakes';

function after(...messages: object[]): IPosition {
  let position: IPosition | null = null;
  for (const message of messages) {
    const outcome = read(position, message as Message);
    if (outcome.kind !== 'state') {
      throw new Error(`a state was expected, not: ${outcome.kind}`);
    }
    position = outcome.position;
  }
  return position as IPosition;
}

const SNAPSHOT = {
  version: 2,
  type: 'snapshot',
  sequence: 1,
  state: {
    clusters: [
      makeCluster({ id: 'a', workers: 1 }),
      makeCluster({ id: 'b', workers: 2 })
    ]
  }
};

const NASTY = 'a\u202eb\u0007\u200b\ud800 é 👩‍🔬';
const SHOWN = 'a\\u202eb\\x07\\u200b\\ud800 é 👩‍🔬';

describe('Names with characters that are not seen, or turn the text round', () => {
  const notebook = 'a\u202e.ipynb';
  const run = { id: '1', label: NASTY, notebook };
  const cluster = { id: 'c1', name: NASTY, problem: NASTY, runs: [run] };
  const entry = { id: 'x', name: NASTY, problem: NASTY, host: NASTY };
  const lists = {
    recordings: [entry],
    elsewhere: [entry],
    starts: [entry],
    exports: [entry]
  };
  const begin = { ...SNAPSHOT, state: {} };
  const changes = { version: 2, type: 'changes', sequence: 2 };

  it.each([
    ['a snapshot', [{ ...SNAPSHOT, state: { clusters: [cluster], ...lists } }]],
    ['changes', [begin, { ...changes, clusters: { c1: cluster }, ...lists }]]
  ])('are escapes in %s, and paths stay', (_, messages) => {
    const { state } = after(...messages);
    const [told] = state.clusters;
    expect([told.name, told.problem]).toEqual([SHOWN, SHOWN]);
    expect(told.runs).toEqual([{ ...run, label: SHOWN }]);
    expect(state.recordings[0].name).toBe(SHOWN);
    expect(state.elsewhere[0]).toMatchObject({ name: SHOWN, host: SHOWN });
    expect(state.starts[0]).toMatchObject({ name: SHOWN, problem: SHOWN });
    expect(state.exports[0]).toMatchObject({ name: SHOWN, problem: SHOWN });
  });

  it('are not written into code: the id is', () => {
    const named = { ...changes, clusters: { c1: cluster } };
    const later = { clusters: { c1: { workers: 3 } }, sequence: 3 };
    const { clusters } = after(begin, named, { ...changes, ...later }).state;
    expect(clusters[0].workers).toBe(3);
    expect(referenceOf(clusters[0], clusters)).toBe('c1');
    const renamed = { clusters: { c1: { name: 'plain' } }, sequence: 3 };
    const { state } = after(begin, named, { ...changes, ...renamed });
    expect(referenceOf(state.clusters[0], state.clusters)).toBe('plain');
  });
});

describe('The state', () => {
  it('takes over the fields that changed, and leaves other clusters the same objects', () => {
    const before = after(SNAPSHOT);
    const changes = {
      version: 2,
      type: 'changes',
      sequence: 2,
      clusters: { b: { workers: 5 } }
    };
    const { state } = after(SNAPSHOT, changes);
    expect(state.clusters.map(({ workers }) => workers)).toEqual([1, 5]);
    expect(state.clusters[1].threads).toBe(4);
    const outcome = read(before, changes as Message);
    expect(outcome.kind === 'state' && outcome.position.state.clusters[0]).toBe(
      before.state.clusters[0]
    );
  });

  it('forgets clusters that are gone, takes in new ones, and keeps the order that it is told', () => {
    const { state } = after(SNAPSHOT, {
      version: 2,
      type: 'changes',
      sequence: 2,
      clusters: { a: null, c: { name: 'new' } },
      order: ['c', 'b']
    });
    expect(state.clusters.map(({ id }) => id)).toEqual(['c', 'b']);
    // What a server leaves out has a value that says nothing.
    expect(state.clusters[0]).toMatchObject({ name: 'new', can: [], gpus: [] });
  });

  it.each([
    ['changes before a snapshot', null, { sequence: 2, type: 'changes' }],
    ['changes after a gap', after(SNAPSHOT), { sequence: 3, type: 'changes' }],
    [
      'the same changes twice',
      after(SNAPSHOT),
      { sequence: 1, type: 'changes' }
    ],
    [
      'a heartbeat that knows more',
      after(SNAPSHOT),
      { sequence: 7, type: 'alive' }
    ]
  ])('takes %s for a gap', (_, before, message) => {
    expect(read(before, { version: 2, ...message } as Message).kind).toBe(
      'gap'
    );
  });

  it('learns nothing from a heartbeat, nor from messages of a later server', () => {
    const before = after(SNAPSHOT);
    const kinds = ['alive', 'gossip'].map(
      type => read(before, { version: 2, type, sequence: 1 } as Message).kind
    );
    expect(kinds).toEqual(['nothing', 'nothing']);
  });
});

describe('StateStream', () => {
  beforeEach(() => {
    jest.useFakeTimers();
  });

  afterEach(() => {
    jest.useRealTimers();
  });

  it('keeps the last state when the connection is lost, and tries again ever more rarely', () => {
    const { stream, clusters, dispose } = makeModels();
    FakeSocket.last.tell(makeCluster());
    FakeSocket.last.onclose?.();
    expect([stream.connection, clusters.all.length]).toEqual(['lost', 1]);
    expect(stream.problem).toContain('No connection to the Jupyter server');
    jest.advanceTimersByTime(499);
    expect(FakeSocket.opened.length).toBe(1);
    jest.advanceTimersByTime(1);
    expect(FakeSocket.opened.length).toBe(2);
    FakeSocket.last.onclose?.();
    jest.advanceTimersByTime(999);
    expect(FakeSocket.opened.length).toBe(2);
    jest.advanceTimersByTime(1);
    expect(FakeSocket.opened.length).toBe(3);
    FakeSocket.last.tell();
    expect([stream.connection, clusters.all.length]).toEqual(['connected', 0]);
    dispose();
  });

  it('takes a connection for lost that is open but silent, as after sleep or when the network went', () => {
    const { stream, dispose } = makeModels();
    FakeSocket.last.tell(makeCluster());
    jest.advanceTimersByTime(SILENCE_MS - 1);
    FakeSocket.last.send({ type: 'alive', sequence: 1 });
    jest.advanceTimersByTime(SILENCE_MS - 1);
    expect(stream.connection).toBe('connected');
    jest.advanceTimersByTime(1);
    expect(stream.connection).toBe('lost');
    expect(FakeSocket.last.isClosed).toBe(true);
    jest.advanceTimersByTime(500);
    expect(FakeSocket.opened.length).toBe(2);
    dispose();
  });

  it('says that the server has no extension of ours, and asks rarely from then on', async () => {
    let isThere = false;
    const page = (): Response =>
      isThere
        ? new Response('{"pages": []}')
        : new Response('<!DOCTYPE HTML><title>404</title>', { status: 404 });
    const models = makeModels({
      'GET /user/someone/glassloom/api/pages': page
    });
    FakeSocket.last.onclose?.();
    await jest.advanceTimersByTimeAsync(0);
    expect(models.stream.isMissing).toBe(true);
    expect(models.stream.problem).toContain(
      'jupyter server extension enable glassloom_server'
    );
    await jest.advanceTimersByTimeAsync(1_000);
    expect(FakeSocket.opened.length).toBe(2); // had been on its way
    FakeSocket.last.onclose?.();
    await jest.advanceTimersByTimeAsync(100_000);
    expect(FakeSocket.opened.length).toBe(2);
    isThere = true;
    await jest.advanceTimersByTimeAsync(30_000);
    FakeSocket.last.tell(makeCluster());
    expect(models.stream.isMissing).toBe(false);
    expect([models.stream.problem, models.clusters.all.length]).toEqual([
      '',
      1
    ]);
    models.dispose();
  });

  it('does not take a server that is gone for one without our extension', async () => {
    const models = makeModels({
      'GET /user/someone/glassloom/api/pages': () => {
        throw new TypeError('network');
      }
    });
    FakeSocket.last.onclose?.();
    await jest.advanceTimersByTimeAsync(0);
    expect(models.stream.isMissing).toBe(false);
    expect(models.stream.problem).toContain('No connection');
    models.dispose();
  });

  it('connects anew when it has missed something', () => {
    const { clusters, dispose } = makeModels();
    FakeSocket.last.tell(makeCluster());
    FakeSocket.last.send({ version: 2, type: 'changes', sequence: 9 });
    expect(FakeSocket.opened.length).toBe(2);
    expect(clusters.all.length).toBe(1);
    // What the old connection had said last counts no more.
    FakeSocket.last.tellState({ clusters: [] });
    expect(clusters.all.length).toBe(0);
    dispose();
  });

  it.each([
    [1, 'older than this page'],
    [3, 'newer than this page']
  ])('says of a server of version %s that it is %s', (version, words) => {
    const { stream, dispose } = makeModels();
    FakeSocket.last.send({ version, type: 'snapshot', sequence: 1, state: {} });
    expect(stream.connection).toBe('other-version');
    expect(stream.problem).toContain(words);
    dispose();
  });
});
