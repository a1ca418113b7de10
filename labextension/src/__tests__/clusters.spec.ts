import { ClusterModel } from '../model/clusters';
import { RequestRefused } from '../request';
import {
  FakeSocket,
  fakeAPI,
  makeCluster,
  makeRecording,
  settle
} from './fakes';

const CLUSTERS = '/user/someone/glassloom/api/clusters';

describe('ClusterModel', () => {
  it('follows the stream of the server that it is served by', () => {
    const [api] = fakeAPI();
    const model = new ClusterModel(api);
    expect(FakeSocket.last.url).toBe(
      'ws://localhost/user/someone/glassloom/api/metrics?token=a%20b'
    );
    expect(model.connection).toBe('connecting');
    FakeSocket.last.tell(makeCluster());
    expect(model.connection).toBe('connected');
    expect(model.clusters.map(({ id }) => id)).toEqual(['c1']);
    model.dispose();
    expect(FakeSocket.last.isClosed).toBe(true);
  });

  it('takes the newest cluster for the active one, until a person chooses', () => {
    const [api] = fakeAPI();
    const model = new ClusterModel(api);
    expect(model.active).toBeNull();
    FakeSocket.last.tell(makeCluster({ id: 'a' }), makeCluster({ id: 'b' }));
    expect(model.active?.id).toBe('b');
    model.activate('a');
    expect(model.active?.id).toBe('a');
    FakeSocket.last.tell(makeCluster({ id: 'b' }));
    expect(model.active?.id).toBe('b');
    model.dispose();
  });

  it('keeps the last numbers when the connection is lost, and tries again ever more rarely', () => {
    jest.useFakeTimers();
    const [api] = fakeAPI();
    const model = new ClusterModel(api);
    FakeSocket.last.tell(makeCluster());
    FakeSocket.last.onclose?.();
    expect([model.connection, model.clusters.length]).toEqual(['lost', 1]);
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
    expect([model.connection, model.clusters.length]).toEqual(['connected', 0]);
    model.dispose();
    jest.useRealTimers();
  });

  it('shows a cluster as starting until it runs, and makes it the active one', async () => {
    const [api, calls] = fakeAPI({
      [`POST ${CLUSTERS}`]: () =>
        new Response('{"id": "a", "name": "mine"}', { status: 201 })
    });
    const model = new ClusterModel(api);
    const started = model.start({ name: 'mine', n_workers: 3 });
    expect(model.starting).toEqual(['mine']);
    await started;
    expect(model.starting).toEqual([]);
    expect(calls.find(({ method }) => method === 'POST')?.body).toBe(
      '{"name":"mine","n_workers":3}'
    );
    FakeSocket.last.tell(makeCluster({ id: 'a' }), makeCluster({ id: 'b' }));
    expect(model.active?.id).toBe('a');
    model.dispose();
  });

  it('hands on why the server refused to start a cluster', async () => {
    const message = 'MemoryLimitError: "lots" is no number of bytes';
    const [api] = fakeAPI({
      [`POST ${CLUSTERS}`]: () =>
        new Response(JSON.stringify({ message }), { status: 500 })
    });
    const model = new ClusterModel(api);
    await expect(model.start({})).rejects.toEqual(
      new RequestRefused(message, 500)
    );
    expect(model.starting).toEqual([]);
    model.dispose();
  });

  it('marks a cluster as shutting down until it is gone', async () => {
    const [api, calls] = fakeAPI({
      [`DELETE ${CLUSTERS}/c1`]: () => new Response(null, { status: 204 })
    });
    const model = new ClusterModel(api);
    FakeSocket.last.tell(makeCluster());
    const ended = model.shutDown('c1');
    expect(model.shutDown('c1')).toBe(ended);
    await settle();
    expect(calls.at(-1)?.path).toBe(`${CLUSTERS}/c1`);
    expect(calls.filter(({ method }) => method === 'DELETE').length).toBe(1);
    FakeSocket.last.tell(makeCluster());
    await settle();
    expect(model.isShuttingDown('c1')).toBe(true);
    FakeSocket.last.tell();
    await ended;
    expect(model.isShuttingDown('c1')).toBe(false);
    model.dispose();
  });

  it('takes the mark away, and says why, when the cluster does not end', async () => {
    jest.useFakeTimers();
    const [api] = fakeAPI({
      [`DELETE ${CLUSTERS}/c1`]: () => new Response(null, { status: 204 })
    });
    const model = new ClusterModel(api);
    FakeSocket.last.tell(makeCluster());
    let changes = 0;
    const ended = model.shutDown('c1');
    const failed = expect(ended).rejects.toThrow(
      'it has not ended within 15 s'
    );
    await settle();
    model.changed.connect(() => changes++);
    jest.advanceTimersByTime(14_999);
    await settle();
    expect([model.isShuttingDown('c1'), changes]).toEqual([true, 0]);
    jest.advanceTimersByTime(1);
    await failed;
    expect([model.isShuttingDown('c1'), changes]).toEqual([false, 1]);
    model.dispose();
    jest.useRealTimers();
  });

  it('takes the mark away when the server refuses to shut down', async () => {
    const [api] = fakeAPI({
      [`DELETE ${CLUSTERS}/c1`]: () => new Response('no', { status: 502 })
    });
    const model = new ClusterModel(api);
    await expect(model.shutDown('c1')).rejects.toThrow('no');
    expect(model.isShuttingDown('c1')).toBe(false);
    model.dispose();
  });

  it('asks for the pages again with the next connection if it could not get them', async () => {
    const warn = jest.spyOn(console, 'warn').mockImplementation();
    let answer = new Response('down', { status: 503 });
    const [api] = fakeAPI({
      'GET /user/someone/glassloom/api/pages': () => answer
    });
    const model = new ClusterModel(api);
    await settle();
    expect(model.pages).toEqual([]);
    expect(warn).toHaveBeenCalledTimes(1);
    const pages = [{ id: 'status', title: 'Status', description: '' }];
    answer = new Response(JSON.stringify({ pages }));
    FakeSocket.last.tell();
    await settle();
    expect(model.pages).toEqual(pages);
    model.dispose();
    warn.mockRestore();
  });

  it('knows recordings by name, and closes them', async () => {
    const path = '/user/someone/glassloom/api/recordings/recording-1';
    const [api, calls] = fakeAPI({
      [`DELETE ${path}`]: () => new Response(null, { status: 204 })
    });
    const model = new ClusterModel(api);
    FakeSocket.last.tellState({
      clusters: [makeCluster()],
      recordings: [makeRecording()]
    });
    expect(model.nameOf('recording-1')).toBe('loom (run.glr)');
    expect([model.nameOf('c1'), model.nameOf('c9')]).toEqual(['loom', null]);
    expect(model.active?.id).toBe('c1');
    await model.closeRecording('recording-1');
    expect(calls.at(-1)).toMatchObject({ method: 'DELETE', path });
    expect(model.recordings).toEqual([]);
    model.dispose();
  });

  it('needs no more than clusters of a server that knows no more', () => {
    const [api] = fakeAPI();
    const model = new ClusterModel(api);
    FakeSocket.last.tell(makeCluster());
    expect([model.recordings, model.elsewhere]).toEqual([[], []]);
    model.dispose();
  });
});
