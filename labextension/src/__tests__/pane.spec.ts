import { Widget } from '@lumino/widgets';
import { ClusterModel } from '../model/clusters';
import { DashboardPane } from '../panels/pane';
import {
  FakeSocket,
  fakeAPI,
  makeCluster,
  makeRecording,
  settle
} from './fakes';

const HEALTH = '/user/someone/glassloom/dash/health';

function setUp(
  isReady: () => boolean,
  clusters = [makeCluster()]
): [DashboardPane, ClusterModel] {
  const [api] = fakeAPI({
    [`GET ${HEALTH}`]: () =>
      new Response('no bokeh today', { status: isReady() ? 200 : 503 })
  });
  const model = new ClusterModel(api);
  FakeSocket.last.tell(...clusters);
  const pane = new DashboardPane({
    api,
    model,
    cluster: 'c1',
    name: 'loom',
    page: 'status',
    pageTitle: 'Status',
    theme: 'dark'
  });
  Widget.attach(pane, document.body);
  return [pane, model];
}

function frameOf(pane: DashboardPane): HTMLIFrameElement {
  return pane.node.querySelector('iframe') as HTMLIFrameElement;
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
    pane.dispose();
  });

  it('gives up on a cluster that never comes into the list', async () => {
    const [pane] = setUp(() => true, []);
    await jest.advanceTimersByTimeAsync(4_000);
    expect(pane.node.textContent).toBe('Cluster loom has ended.');
    pane.dispose();
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

  it('stops when it is closed', () => {
    const [pane] = setUp(() => true);
    pane.dispose();
    expect(jest.getTimerCount()).toBe(0);
  });

  it('stays while its recording is open, and says when it is not any more', () => {
    const [api] = fakeAPI();
    const model = new ClusterModel(api);
    FakeSocket.last.tellState({ recordings: [makeRecording()] });
    const pane = new DashboardPane({
      api,
      model,
      cluster: 'recording-1',
      name: 'recording-1',
      page: 'status',
      pageTitle: 'Status',
      theme: 'light'
    });
    Widget.attach(pane, document.body);
    sayAlive(pane);
    expect(pane.title.caption).toBe('Status of recording loom (run.glr)');
    expect(pane.node.dataset.state).toBe('live');
    FakeSocket.last.tellState({});
    expect(pane.node.dataset.state).toBe('ended');
    expect(pane.node.textContent).toBe(
      'Recording loom (run.glr) is not open any more. This is the last that was seen of it.'
    );
    pane.dispose();
  });
});
