/**
 * Clusters in JupyterLab's own list of what runs, with its "Shut Down All".
 */
import {
  JupyterFrontEnd,
  JupyterFrontEndPlugin
} from '@jupyterlab/application';
import { IRunningSessionManagers, IRunningSessions } from '@jupyterlab/running';
import { ITranslator, TranslationBundle } from '@jupyterlab/translation';
import { Signal } from '@lumino/signaling';
import { CommandIDs } from '../commands';
import { glassloomIcon } from '../icons';
import { can, describeSize } from '../model/kinds';
import { IClusters } from '../tokens';
import { shutDown } from './endings';
import { languageOf } from './language';

export const runningPlugin: JupyterFrontEndPlugin<void> = {
  id: 'glassloom:running',
  description: 'Lists clusters among the running sessions.',
  autoStart: true,
  requires: [IClusters],
  optional: [IRunningSessionManagers, ITranslator],
  activate: (
    app: JupyterFrontEnd,
    clusters: IClusters,
    managers: IRunningSessionManagers | null,
    translator: ITranslator | null
  ): void => {
    const trans = languageOf(translator);
    managers?.add(runningClusters(app, trans, clusters));
  }
};

/** The numbers change every second, the list seldom; JupyterLab draws all of it at each signal. */
function runningClusters(
  app: JupyterFrontEnd,
  trans: TranslationBundle,
  clusters: IClusters
): IRunningSessions.IManager {
  const runningChanged = new Signal<IClusters, void>(clusters);
  let listed = '';
  clusters.changed.connect(() => {
    const shown = clusters.all.map(cluster => [
      cluster.id,
      cluster.name,
      describeSize(trans, cluster),
      can(cluster, 'shut_down')
    ]);
    const now = JSON.stringify(shown);
    if (now !== listed) {
      listed = now;
      runningChanged.emit();
    }
  });
  return {
    name: trans.__('Glassloom Clusters'),
    supportsMultipleViews: false,
    running: () =>
      clusters.all.map(cluster => ({
        label: () => cluster.name,
        labelTitle: () => cluster.notebook ?? cluster.name,
        detail: () => describeSize(trans, cluster),
        icon: () => glassloomIcon,
        open: () => {
          void app.commands.execute(CommandIDs.openDashboard, {
            cluster: cluster.id
          });
        },
        ...(can(cluster, 'shut_down') && {
          shutdown: () => void shutDown(trans, clusters, cluster)
        })
      })),
    refreshRunning: () => undefined,
    runningChanged,
    shutdownAll: () => {
      for (const cluster of clusters.all) {
        if (can(cluster, 'shut_down')) {
          void shutDown(trans, clusters, cluster);
        }
      }
    },
    shutdownLabel: trans.__('Shut Down Cluster'),
    shutdownAllLabel: trans.__('Shut Down All'),
    shutdownAllConfirmationText: trans.__(
      'Shut down all Glassloom clusters? The results that they hold will be lost.'
    )
  };
}
