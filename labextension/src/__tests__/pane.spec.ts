import { Widget } from '@lumino/widgets';
import { Resolver } from '../model/resolver';
import { DashboardPane, IPaneOptions } from '../panels/pane';
import { PaneTarget } from '../tokens';
import {
  fakeAPI,
  FakeSocket,
  IModels,
  json,
  makeCluster,
  makeModels,
  makeRecording,
  settle,
  trans
} from './fakes';

const ROOT = '/user/someone/glassloom';

function setUp(
  isReady: () => boolean,
  clusters = [makeCluster()],
  target: PaneTarget = { kind: 'cluster', id: 'c1' },
  answers: Record<string, () => Response> = {}
): [DashboardPane, IModels] {
  const models = makeModels({
    [`GET ${ROOT}/dash/health`]: () =>
      new Response('no bokeh today', { status: isReady() ? 200 : 503 }),
    ...answers
  });
  FakeSocket.last.tell(...clusters);
  const pane = makePane(models, target);
  Widget.attach(pane, document.body);
  return [pane, models];
}

function makePane(
  { api, stream, pages, clusters, recordings }: IModels,
  target: PaneTarget,
  opened?: string,
  options: Partial<IPaneOptions> = {}
): DashboardPane {
  return new DashboardPane({
    api,
    stream,
    pages,
    trans,
    resolver: new Resolver(clusters, recordings),
    target,
    name: 'loom',
    page: 'status',
    pageTitle: 'Status',
    theme: 'dark',
    opened,
    onFollowActive: pane => pane.setTarget({ kind: 'active' }),
    ...options
  });
}

function frameOf(pane: DashboardPane): HTMLIFrameElement {
  return pane.node.querySelector('iframe') as HTMLIFrameElement;
}

function wordsOf(pane: DashboardPane): string | null | undefined {
  return pane.node.querySelector('[role="status"]')?.textContent;
}

function say(data: unknown, source: Window | null, origin?: string): void {
  window.dispatchEvent(
    new MessageEvent('message', {
      data,
      source,
      origin: origin ?? window.location.origin
    })
  );
}

function sayAlive(pane: DashboardPane): void {
  say({ type: 'glassloom:alive' }, frameOf(pane).contentWindow);
}

function sayLost(pane: DashboardPane): void {
  say({ type: 'glassloom:lost' }, frameOf(pane).contentWindow);
}

describe('DashboardPane', () => {
  beforeEach(() => {
    jest.useFakeTimers();
  });

  afterEach(() => {
    jest.useRealTimers();
  });

  it('loads the page below the base URL, in the theme', () => {
    const [pane] = setUp(() => true);
    expect(frameOf(pane).src).toBe(
      'http://localhost/user/someone/glassloom/dash/c1/status?theme=dark'
    );
    expect(pane.title.label).toBe('Status · loom');
    expect(pane.node.textContent).toBe('Opening the dashboard…');
    pane.dispose();
  });

  it('shows the page of a server on another host, where there is no cookie', () => {
    const baseUrl = 'http://elsewhere.example:8888/';
    const [api] = fakeAPI({}, { baseUrl, appendToken: true });
    const [, models] = setUp(() => true);
    const pane = makePane({ ...models, api }, { kind: 'cluster', id: 'c1' });
    Widget.attach(pane, document.body);
    expect(frameOf(pane).src).toBe(
      `${baseUrl}glassloom/dash/c1/status?theme=dark&token=a%20b`
    );
    sayAlive(pane);
    expect(pane.node.dataset.state).toBe('opening');
    say(
      { type: 'glassloom:alive' },
      frameOf(pane).contentWindow,
      'http://elsewhere.example:8888'
    );
    expect(pane.node.dataset.state).toBe('live');
    pane.dispose();
  });

  it('loads the page anew with what is to be opened in it', () => {
    const [pane] = setUp(() => true);
    pane.openInPage('7');
    expect(frameOf(pane).src).toBe(
      'http://localhost/user/someone/glassloom/dash/c1/status?theme=dark&open=7'
    );
    pane.dispose();
  });

  it('loads a new page once, with what is to be opened in it', () => {
    const [first, models] = setUp(() => true);
    const pane = makePane(models, first.target, '7');
    Widget.attach(pane, document.body);
    expect(frameOf(pane).src).toBe(
      'http://localhost/user/someone/glassloom/dash/c1/status?theme=dark&open=7'
    );
    pane.dispose();
    first.dispose();
  });

  it('shows the page once it says that it is alive', () => {
    const [pane] = setUp(() => true);
    sayAlive(pane);
    expect(pane.node.dataset.state).toBe('live');
    pane.dispose();
  });

  it.each([
    ['another window', { type: 'glassloom:alive' }, window, undefined],
    [
      'another origin',
      { type: 'glassloom:alive' },
      null,
      'https://evil.example'
    ],
    ['another message', { type: 'hello' }, null, undefined],
    ['no message', 'glassloom:alive', null, undefined]
  ])('does not believe %s', (_, data, source, origin) => {
    const [pane] = setUp(() => true);
    say(data, source ?? frameOf(pane).contentWindow, origin);
    expect(pane.node.dataset.state).toBe('opening');
    pane.dispose();
  });

  it('covers a page that fell silent, and loads it again when the dashboards answer', async () => {
    let isReady = false;
    const [pane] = setUp(() => isReady);
    sayAlive(pane);
    const first = frameOf(pane).src;
    frameOf(pane).src = 'about:blank';
    await jest.advanceTimersByTimeAsync(7_000);
    expect(pane.node.dataset.state).toBe('lost');
    expect(pane.node.textContent).toContain('Reconnecting…');
    isReady = true;
    await jest.advanceTimersByTimeAsync(2_000);
    expect(frameOf(pane).src).toBe(first);
    expect(pane.node.dataset.state).toBe('opening');
    sayAlive(pane);
    expect(pane.node.dataset.state).toBe('live');
    pane.dispose();
  });

  it('covers a page as soon as it says that its connection was lost, and loads it again when the dashboards answer', async () => {
    let isReady = true;
    const [pane] = setUp(() => isReady);
    sayAlive(pane);
    await jest.advanceTimersByTimeAsync(5_000);
    sayAlive(pane);
    await jest.advanceTimersByTimeAsync(2_000);
    sayAlive(pane); // for longer than a page that has settled
    isReady = false;
    sayLost(pane);
    expect(pane.node.dataset.state).toBe('lost');
    await jest.advanceTimersByTimeAsync(0);
    expect(wordsOf(pane)).toBe('Reconnecting…\nno bokeh today');
    isReady = true;
    await jest.advanceTimersByTimeAsync(1_000);
    expect(pane.node.dataset.state).toBe('opening');
    pane.dispose();
  });

  it('loads its page when somebody can see it, and not before', async () => {
    const models = makeModels({
      [`GET ${ROOT}/dash/health`]: () => new Response('')
    });
    FakeSocket.last.tell(makeCluster());
    const pane = makePane(models, { kind: 'cluster', id: 'c1' });
    pane.hide();
    Widget.attach(pane, document.body);
    await jest.advanceTimersByTimeAsync(60_000);
    expect(frameOf(pane).getAttribute('src')).toBeNull();
    expect(pane.node.dataset.state).toBe('opening');
    expect(models.calls.map(({ path }) => path)).not.toContain(
      `${ROOT}/dash/health`
    );
    pane.show();
    expect(frameOf(pane).src).toContain('/glassloom/dash/c1/status');
    sayAlive(pane);
    pane.hide(); // what was loaded stays
    sayLost(pane);
    frameOf(pane).removeAttribute('src');
    await jest.advanceTimersByTimeAsync(60_000);
    expect(frameOf(pane).getAttribute('src')).toBeNull();
    pane.show();
    expect(frameOf(pane).src).toContain('/glassloom/dash/c1/status');
    pane.dispose();
    models.dispose();
  });

  it('is opened anew where it is put elsewhere, as the browser loads its frame again', async () => {
    let probes = 0;
    const [pane] = setUp(() => {
      probes += 1;
      return true;
    });
    await settle();
    sayAlive(pane);
    expect(pane.node.dataset.state).toBe('live');
    const before = probes;
    Widget.detach(pane);
    Widget.attach(pane, document.body);
    expect(pane.node.dataset.state).toBe('opening');
    await jest.advanceTimersByTimeAsync(10_000);
    expect(pane.node.dataset.state).toBe('opening');
    sayAlive(pane);
    expect(pane.node.dataset.state).toBe('live');
    expect(probes).toBe(before);
    pane.dispose();
  });

  it('does not mind what a page says last that makes room for another', () => {
    const [pane] = setUp(() => true);
    sayAlive(pane);
    pane.openInPage('7');
    sayLost(pane);
    expect(pane.node.dataset.state).toBe('opening');
    pane.dispose();
  });

  it('says at once why the dashboards cannot start', async () => {
    const [pane] = setUp(() => false);
    await jest.advanceTimersByTimeAsync(10);
    expect(pane.node.textContent).toBe('Reconnecting…\nno bokeh today');
    pane.dispose();
  });

  it('waits for a cluster that is not in the list yet, and learns its name', async () => {
    const [pane] = setUp(() => true, []);
    expect(pane.node.dataset.state).toBe('opening');
    FakeSocket.last.tell(makeCluster({ name: 'renamed' }));
    expect(pane.title.label).toBe('Status · renamed');
    FakeSocket.last.tellChanges({ clusters: { c1: { name: 'again' } } });
    expect(pane.title.label).toBe('Status · again');
    expect(pane.title.caption).toBe('Status of cluster again');
    pane.dispose();
  });

  it('gives up on a cluster that never comes into the list', async () => {
    const [pane] = setUp(() => true, []);
    await jest.advanceTimersByTimeAsync(4_000);
    expect(wordsOf(pane)).toBe('Cluster loom has ended.');
    pane.dispose();
  });

  it('of a cluster whose name nobody knows any more, as by a button in a saved output, says that this one has', () => {
    const models = makeModels();
    const target = { kind: 'cluster', id: 'gone' } as const;
    const pane = makePane(models, target, undefined, { name: '' });
    Widget.attach(pane, document.body);
    FakeSocket.last.tell(makeCluster());
    expect(wordsOf(pane)).toBe('This cluster has ended.');
    pane.dispose();
  });

  it('of a saved workspace asks for no page of a cluster that is gone, and says at once that it is', async () => {
    const models = makeModels();
    const pane = makePane(models, { kind: 'cluster', id: 'gone' });
    Widget.attach(pane, document.body);
    expect(frameOf(pane).getAttribute('src')).toBeNull();
    expect(wordsOf(pane)).toBe('Opening the dashboard…');
    FakeSocket.last.tell(makeCluster());
    expect(wordsOf(pane)).toBe('Cluster loom has ended.');
    await jest.advanceTimersByTimeAsync(60_000);
    expect(frameOf(pane).getAttribute('src')).toBeNull();
    expect(models.calls.map(({ path }) => path)).not.toContain(
      `${ROOT}/dash/health`
    );
    const actions = pane.node.querySelectorAll<HTMLElement>('[data-action]');
    expect(Array.from(actions, ({ dataset }) => dataset.action)).toEqual([
      'follow-active',
      'close'
    ]);
    pane.dispose();
    models.dispose();
  });

  it('says at once that there is no such page, and what to do', async () => {
    const onShowPages = jest.fn();
    const models = makeModels({
      [`GET ${ROOT}/api/pages`]: json({
        pages: [{ id: 'memory', title: 'Memory', description: '' }]
      })
    });
    FakeSocket.last.tell(makeCluster());
    await settle();
    const pane = makePane(models, { kind: 'cluster', id: 'c1' }, undefined, {
      onShowPages
    });
    Widget.attach(pane, document.body);
    expect(wordsOf(pane)).toContain('There is no page “status”');
    await jest.advanceTimersByTimeAsync(60_000);
    expect(pane.node.dataset.state).toBe('no-page');
    expect(frameOf(pane).getAttribute('src')).toBeNull();
    expect(models.calls.map(({ path }) => path)).not.toContain(
      `${ROOT}/dash/health`
    );
    const [show, close] = pane.node.querySelectorAll<HTMLElement>('button');
    show.click();
    expect(onShowPages).toHaveBeenCalledTimes(1);
    close.click();
    expect(pane.isDisposed).toBe(true);
    models.dispose();
  });

  it('asks for nothing where the server has no extension of ours, says so, and is loaded once it has', async () => {
    let isThere = false;
    const models = makeModels({
      [`GET ${ROOT}/api/pages`]: () =>
        isThere
          ? json({ pages: [] })()
          : new Response('<!DOCTYPE HTML>', { status: 404 })
    });
    const pane = makePane(models, { kind: 'cluster', id: 'c1' });
    Widget.attach(pane, document.body);
    FakeSocket.last.onclose?.();
    await jest.advanceTimersByTimeAsync(60_000);
    expect(pane.node.dataset.state).toBe('missing');
    expect(wordsOf(pane)).toBe(models.stream.problem);
    expect(frameOf(pane).getAttribute('src')).toBeNull();
    isThere = true;
    models.stream.reconnect();
    FakeSocket.last.tell(makeCluster());
    await settle();
    expect(pane.node.dataset.state).toBe('opening');
    expect(frameOf(pane).src).toContain('/glassloom/dash/c1/status');
    pane.dispose();
    models.dispose();
  });

  it('of a page that an updated server has got since is loaded', async () => {
    let pages = ['memory'];
    const models = makeModels({
      [`GET ${ROOT}/api/pages`]: () =>
        json({
          pages: pages.map(id => ({ id, title: id, description: '' }))
        })()
    });
    FakeSocket.last.tell(makeCluster());
    await settle();
    const pane = makePane(models, { kind: 'cluster', id: 'c1' });
    Widget.attach(pane, document.body);
    expect(pane.node.dataset.state).toBe('no-page');
    pages = ['memory', 'status'];
    FakeSocket.last.onclose?.();
    await jest.advanceTimersByTimeAsync(1_000);
    FakeSocket.last.tell(makeCluster());
    await settle();
    expect(pane.node.dataset.state).toBe('opening');
    expect(frameOf(pane).src).toContain('/glassloom/dash/c1/status');
    pane.dispose();
    models.dispose();
  });

  it('loads its page without the list, where that does not come', async () => {
    const models = makeModels();
    const pane = makePane(models, { kind: 'cluster', id: 'c1' });
    Widget.attach(pane, document.body);
    await jest.advanceTimersByTimeAsync(4_000);
    expect(frameOf(pane).src).toContain('/glassloom/dash/c1/status');
    pane.dispose();
    models.dispose();
  });

  it('says that its cluster has ended, and leaves its last state to be read', async () => {
    const [pane] = setUp(() => true);
    sayAlive(pane);
    FakeSocket.last.tell();
    expect(pane.node.dataset.state).toBe('ended');
    expect(pane.node.dataset.blank).toBe('false');
    expect(pane.node.textContent).toContain('Cluster loom has ended.');
    pane.dispose();
  });

  it('does not take a lost connection for the end of its cluster', async () => {
    const [pane] = setUp(() => true);
    sayAlive(pane);
    FakeSocket.last.onclose?.();
    await settle();
    expect(pane.node.dataset.state).toBe('live');
    pane.dispose();
  });

  it('tells the page about a new theme', () => {
    const [pane] = setUp(() => true);
    const post = jest.spyOn(
      frameOf(pane).contentWindow as Window,
      'postMessage'
    );
    pane.setTheme('light');
    expect(post).toHaveBeenCalledWith(
      { type: 'glassloom:theme', theme: 'light' },
      window.location.origin
    );
    pane.dispose();
  });

  it('stops when it is closed', async () => {
    const all = setUp(() => true);
    const [pane] = all;
    const [, models] = all;
    pane.close();
    expect(pane.isDisposed).toBe(true);
    models.dispose();
    await settle(); // requests under way have been answered
    expect(jest.getTimerCount()).toBe(0);
  });

  it('stays while its recording is open, and says when it is not any more', () => {
    const models = makeModels();
    FakeSocket.last.tellState({ recordings: [makeRecording()] });
    const pane = makePane(models, { kind: 'cluster', id: 'recording-1' });
    Widget.attach(pane, document.body);
    sayAlive(pane);
    expect(pane.title.caption).toBe('Status of recording loom (run.glr)');
    expect(pane.node.dataset.state).toBe('live');
    FakeSocket.last.tellState({});
    expect(pane.node.dataset.state).toBe('ended');
    expect(wordsOf(pane)).toBe(
      'Recording loom (run.glr) is not open any more. This is the last that was seen of it.'
    );
    pane.dispose();
  });

  it('follows a notebook to its next cluster, as after "restart kernel and run all"', async () => {
    const notebook = 'a/b.ipynb';
    const [pane] = setUp(
      () => true,
      [makeCluster({ notebook }), makeCluster({ id: 'other' })],
      { kind: 'notebook', path: notebook }
    );
    sayAlive(pane);
    FakeSocket.last.tell(makeCluster({ id: 'other' }));
    expect(pane.node.dataset.state).toBe('ended');
    expect(pane.node.textContent).toContain(
      'Cluster loom has ended. The next one of a/b.ipynb will be shown here.'
    );
    FakeSocket.last.tell(
      makeCluster({ id: 'other' }),
      makeCluster({ id: 'c2', name: 'loom-2', notebook })
    );
    expect(frameOf(pane).src).toBe(
      'http://localhost/user/someone/glassloom/dash/c2/status?theme=dark'
    );
    expect(pane.title.label).toBe('Status · loom-2');
    expect(pane.node.dataset.state).toBe('opening');
    sayAlive(pane);
    expect(pane.node.dataset.state).toBe('live');
    pane.dispose();
  });

  it('follows the active cluster', () => {
    const [pane, { clusters }] = setUp(
      () => true,
      [makeCluster({ id: 'a' }), makeCluster({ id: 'b' })],
      { kind: 'active' }
    );
    expect(pane.node.dataset.cluster).toBe('b');
    clusters.activate('a');
    expect(pane.node.dataset.cluster).toBe('a');
    pane.dispose();
  });

  it('of a workspace from long ago waits for its notebook, and asks for no page till then', () => {
    const [pane] = setUp(() => true, [], { kind: 'notebook', path: 'x.ipynb' });
    jest.advanceTimersByTime(4_000);
    expect(frameOf(pane).getAttribute('src')).toBeNull();
    expect(pane.node.textContent).toBe(
      'The cluster of x.ipynb does not run. It will be shown here when it does.'
    );
    pane.dispose();
  });

  it('offers the active cluster in the place of one that has ended', async () => {
    const [pane] = setUp(() => true, [makeCluster()]);
    sayAlive(pane);
    FakeSocket.last.tell(makeCluster({ id: 'c2' }));
    pane.node
      .querySelector<HTMLElement>('[data-action="follow-active"]')
      ?.click();
    expect(pane.target).toEqual({ kind: 'active' });
    expect(pane.node.dataset.cluster).toBe('c2');
    pane.dispose();
  });

  it('opens the file of its recording, and again after a restart of the server', async () => {
    let id = 'recording-1';
    const path = 'runs/x.glr';
    const [pane] = setUp(
      () => true,
      [],
      { kind: 'recording', path },
      { [`POST ${ROOT}/api/recordings`]: () => json({ id }, 201)() }
    );
    await settle();
    expect(pane.node.dataset.cluster).toBe('recording-1');
    FakeSocket.last.tellState({ recordings: [makeRecording({ path })] });
    await settle();
    FakeSocket.last.onclose?.();
    id = 'recording-2';
    jest.advanceTimersByTime(600);
    FakeSocket.last.tellState({ recordings: [] });
    await settle();
    expect(pane.node.dataset.cluster).toBe('recording-2');
    pane.dispose();
  });

  it('says why its recording cannot be opened', async () => {
    const [pane] = setUp(
      () => true,
      [],
      { kind: 'recording', path: 'x.glr' },
      {
        [`POST ${ROOT}/api/recordings`]: json(
          { message: 'x.glr is no recording' },
          400
        )
      }
    );
    await jest.advanceTimersByTimeAsync(4_000);
    expect(pane.node.textContent).toBe('x.glr is no recording');
    pane.dispose();
  });

  it('writes what it says only when that changes, as screen readers read it each time', () => {
    const [pane] = setUp(() => true, []);
    jest.advanceTimersByTime(4_000);
    const words = pane.node.querySelector('[role="status"]') as HTMLElement;
    const text = words.firstChild;
    jest.advanceTimersByTime(3_000);
    expect(words.firstChild).toBe(text);
    pane.dispose();
  });

  it('leaves nothing behind, however many are opened and closed', async () => {
    const models = makeModels();
    FakeSocket.last.tell(makeCluster());
    const listeners = jest.spyOn(window, 'addEventListener');
    const removed = jest.spyOn(window, 'removeEventListener');
    await settle();
    const timers = jest.getTimerCount();
    for (let i = 0; i < 1000; i++) {
      makePane(models, { kind: 'active' }).close();
    }
    await settle();
    expect(jest.getTimerCount()).toBe(timers);
    expect(removed.mock.calls.length).toBe(listeners.mock.calls.length);
    listeners.mockRestore();
    removed.mockRestore();
    models.dispose();
  });
});
