/**
 * A card in the launcher that starts a cluster.
 */
import {
  JupyterFrontEnd,
  JupyterFrontEndPlugin
} from '@jupyterlab/application';
import { ILauncher } from '@jupyterlab/launcher';
import { ITranslator, nullTranslator } from '@jupyterlab/translation';
import { CommandIDs } from '../commands';
import { DOMAIN } from '../panels/section';

export const launcherPlugin: JupyterFrontEndPlugin<void> = {
  id: 'glassloom:launcher',
  description: 'Adds a card to the launcher that starts a cluster.',
  autoStart: true,
  optional: [ILauncher, ITranslator],
  activate: (
    _: JupyterFrontEnd,
    launcher: ILauncher | null,
    translator: ITranslator | null
  ): void => {
    const trans = (translator ?? nullTranslator).load(DOMAIN);
    launcher?.add({
      command: CommandIDs.newCluster,
      args: { isLauncher: true },
      category: trans.__('Other'),
      rank: 5
    });
  }
};
