import { JupyterFrontEnd } from '@jupyterlab/application';
import { IRunningSessionManagers, IRunningSessions } from '@jupyterlab/running';
import { CommandRegistry } from '@lumino/commands';
import { CommandIDs } from '../commands';
import { ClusterModel } from '../model/clusters';
import { clustersPlugin } from '../plugins/clusters';
import { runningPlugin } from '../plugins/running';
import { FakeSocket, fakeAPI, ICall, makeCluster, settle } from './fakes';

const CLUSTERS = '/user/someone/glassloom/api/clusters';
const POOL = { id: 'pool', kind: 'threads', workers: 0, threads: 3 };

/** Return what both plugins have registered for a cluster "a" and a thread pool "pool", of which the latter is active. */
function setUp(): [
  ClusterModel,
  CommandRegistry,
  IRunningSessions.IManager,
  ICall[]
] {
  const [api, calls] = fakeAPI({
    [`DELETE ${CLUSTERS}/a`]: () => new Response(null, { status: 204 })
  });
  const model = new ClusterModel(api);
  const commands = new CommandRegistry();
  const app = { commands } as unknown as JupyterFrontEnd;
  const added: IRunningSessions.IManager[] = [];
  const managers = {
    add: (manager: IRunningSessions.IManager) => added.push(manager)
  } as unknown as IRunningSessionManagers;
  void clustersPlugin.activate(app, model, null);
  void runningPlugin.activate(app, model, managers);
  FakeSocket.last.tell(makeCluster({ id: 'a' }), makeCluster(POOL));
  return [model, commands, added[0], calls];
}

describe('thread pools', () => {
  it('are listed among the running sessions without a way to shut them down', () => {
    const [model, , manager] = setUp();
    const items = manager.running({ mode: 'list' });
    expect(items.map(item => item.detail?.())).toEqual([
      '2 workers, 4 threads',
      '3 threads in one process'
    ]);
    expect(items.map(item => item.shutdown !== undefined)).toEqual([
      true,
      false
    ]);
    model.dispose();
  });

  it('are left alone by "Shut Down All"', async () => {
    const [model, , manager, calls] = setUp();
    manager.shutdownAll();
    await settle();
    const deleted = calls.filter(({ method }) => method === 'DELETE');
    expect(deleted.map(({ path }) => path)).toEqual([`${CLUSTERS}/a`]);
    expect(model.isShuttingDown('pool')).toBe(false);
    model.dispose();
  });

  it('disable the command that shuts clusters down', () => {
    const [model, commands] = setUp();
    const isEnabled = (args: { cluster?: string } = {}): boolean =>
      commands.isEnabled(CommandIDs.shutDownCluster, args);
    expect(model.active?.id).toBe('pool');
    expect([isEnabled(), isEnabled({ cluster: 'pool' })]).toEqual([
      false,
      false
    ]);
    expect(isEnabled({ cluster: 'a' })).toBe(true);
    model.dispose();
  });
});
