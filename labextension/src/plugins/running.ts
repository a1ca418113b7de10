/**
 * Clusters in JupyterLab's own list of what runs, with its "Shut Down All".
 */
import {
  JupyterFrontEnd,
  JupyterFrontEndPlugin
} from '@jupyterlab/application';
import { IRunningSessionManagers, IRunningSessions } from '@jupyterlab/running';
import { Signal } from '@lumino/signaling';
import { CommandIDs } from '../commands';
import { glassloomIcon } from '../icons';
import { canShutDown, describeSize } from '../model/kinds';
import { IClusterModel } from '../tokens';
import { shutDown } from './shutDown';

export const runningPlugin: JupyterFrontEndPlugin<void> = {
  id: 'glassloom:running',
  description: 'Lists clusters among the running sessions.',
  autoStart: true,
  requires: [IClusterModel],
  optional: [IRunningSessionManagers],
  activate: (
    app: JupyterFrontEnd,
    model: IClusterModel,
    managers: IRunningSessionManagers | null
  ): void => {
    managers?.add(runningClusters(app, model));
  }
};

/** The numbers change every second, the list seldom; JupyterLab draws all of it at each signal. */
function runningClusters(
  app: JupyterFrontEnd,
  model: IClusterModel
): IRunningSessions.IManager {
  const runningChanged = new Signal<IClusterModel, void>(model);
  let listed = '';
  model.changed.connect(() => {
    const ids = model.clusters.map(({ id }) => id).join();
    if (ids !== listed) {
      listed = ids;
      runningChanged.emit();
    }
  });
  return {
    name: 'Clusters',
    supportsMultipleViews: false,
    running: () =>
      model.clusters.map(cluster => ({
        label: () => cluster.name,
        labelTitle: () => cluster.name,
        detail: () => describeSize(cluster),
        icon: () => glassloomIcon,
        open: () => {
          void app.commands.execute(CommandIDs.openDashboard, {
            cluster: cluster.id
          });
        },
        ...(canShutDown(cluster) && {
          shutdown: () => void shutDown(model, cluster)
        })
      })),
    refreshRunning: () => undefined,
    runningChanged,
    shutdownAll: () => {
      for (const cluster of model.clusters.filter(canShutDown)) {
        void shutDown(model, cluster);
      }
    },
    shutdownLabel: 'Shut Down Cluster',
    shutdownAllLabel: 'Shut Down All',
    shutdownAllConfirmationText:
      'Shut down all Glassloom clusters? The results that they hold will be lost.'
  };
}
