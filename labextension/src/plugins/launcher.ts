/**
 * A card in the launcher that starts a cluster.
 */
import {
  JupyterFrontEnd,
  JupyterFrontEndPlugin
} from '@jupyterlab/application';
import { ILauncher } from '@jupyterlab/launcher';
import { ITranslator } from '@jupyterlab/translation';
import { CommandIDs } from '../commands';
import { languageOf } from './language';

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
    const trans = languageOf(translator);
    launcher?.add({
      command: CommandIDs.newCluster,
      args: { isLauncher: true },
      category: trans.__('Other'),
      rank: 5
    });
  }
};
