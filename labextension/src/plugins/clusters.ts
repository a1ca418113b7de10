/**
 * The commands that start and shut down clusters.
 */
import {
  JupyterFrontEnd,
  JupyterFrontEndPlugin
} from '@jupyterlab/application';
import {
  Dialog,
  ICommandPalette,
  Notification,
  showDialog
} from '@jupyterlab/apputils';
import { addIcon } from '@jupyterlab/ui-components';
import { ReadonlyPartialJSONObject } from '@lumino/coreutils';
import { CommandIDs, PALETTE_CATEGORY } from '../commands';
import { canShutDown } from '../model/kinds';
import { askForCluster } from '../panels/newCluster';
import { ICluster, IClusterModel } from '../tokens';
import { messageOf, shutDown } from './shutDown';

export const clustersPlugin: JupyterFrontEndPlugin<void> = {
  id: 'glassloom:clusters',
  description: 'Starts and shuts down clusters.',
  autoStart: true,
  requires: [IClusterModel],
  optional: [ICommandPalette],
  activate: (
    app: JupyterFrontEnd,
    model: IClusterModel,
    palette: ICommandPalette | null
  ): void => {
    app.commands.addCommand(CommandIDs.newCluster, {
      label: args => (args.isPalette ? 'New Cluster…' : 'New'),
      caption: 'Start a new cluster',
      icon: addIcon,
      describedBy: { args: { type: 'object', properties: {} } },
      execute: () => startCluster(model)
    });
    app.commands.addCommand(CommandIDs.shutDownCluster, {
      label: args =>
        args.cluster ? 'Shut Down Cluster' : 'Shut Down the Active Cluster…',
      caption: 'Shut down a cluster and drop its results',
      isEnabled: args => {
        const cluster = clusterOf(model, args);
        return cluster !== null && canShutDown(cluster);
      },
      describedBy: {
        args: {
          type: 'object',
          properties: {
            cluster: {
              type: 'string',
              description: 'Id of the cluster; the active one by default.'
            }
          }
        }
      },
      execute: async args => {
        const cluster = clusterOf(model, args);
        if (cluster !== null && (await confirmShutDown(cluster))) {
          await shutDown(model, cluster);
        }
      }
    });
    app.commands.addCommand(CommandIDs.closeRecording, {
      label: 'Close Recording',
      caption: 'Show a recording no more; its file stays',
      describedBy: {
        args: {
          type: 'object',
          properties: {
            recording: { type: 'string', description: 'Id of the recording.' }
          },
          required: ['recording']
        }
      },
      execute: async args => {
        if (typeof args.recording === 'string') {
          await closeRecording(model, args.recording);
        }
      }
    });
    for (const command of [CommandIDs.newCluster, CommandIDs.shutDownCluster]) {
      palette?.addItem({
        command,
        category: PALETTE_CATEGORY,
        args: command === CommandIDs.newCluster ? { isPalette: true } : {}
      });
    }
    model.changed.connect(() =>
      app.commands.notifyCommandChanged(CommandIDs.shutDownCluster)
    );
  }
};

/** Ask and start, until it runs or the person gives up; what was filled in is kept. */
async function startCluster(model: IClusterModel): Promise<void> {
  let request = await askForCluster();
  while (request !== null) {
    try {
      return await model.start(request);
    } catch (error) {
      request = await askForCluster(request, messageOf(error));
    }
  }
}

async function closeRecording(
  model: IClusterModel,
  recording: string
): Promise<void> {
  try {
    await model.closeRecording(recording);
  } catch (error) {
    Notification.error(
      `The recording could not be closed: ${messageOf(error)}`
    );
  }
}

async function confirmShutDown(cluster: ICluster): Promise<boolean> {
  const { running, waiting, ready } = cluster.tasks;
  const isBusy = running + waiting + ready > 0;
  const result = await showDialog({
    title: 'Shut down this cluster?',
    body:
      `The results that ${cluster.name} holds will be lost` +
      (isBusy ? ', and the tasks that it still has to do.' : '.'),
    buttons: [Dialog.cancelButton(), Dialog.warnButton({ label: 'Shut Down' })]
  });
  return result.button.accept;
}

function clusterOf(
  model: IClusterModel,
  args: ReadonlyPartialJSONObject
): ICluster | null {
  return typeof args.cluster === 'string'
    ? model.find(args.cluster)
    : model.active;
}
