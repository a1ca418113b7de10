/**
 * The active cluster in the status bar.
 */
import {
  JupyterFrontEnd,
  JupyterFrontEndPlugin
} from '@jupyterlab/application';
import { IStatusBar } from '@jupyterlab/statusbar';
import { ITranslator, nullTranslator } from '@jupyterlab/translation';
import { CommandIDs } from '../commands';
import { DOMAIN } from '../panels/section';
import { ClusterStatus } from '../panels/status';
import { IClusters } from '../tokens';

export const statusBarPlugin: JupyterFrontEndPlugin<void> = {
  id: 'glassloom:status-bar',
  description: 'Shows the active cluster in the status bar.',
  autoStart: true,
  requires: [IClusters],
  optional: [IStatusBar, ITranslator],
  activate: (
    app: JupyterFrontEnd,
    clusters: IClusters,
    statusBar: IStatusBar | null,
    translator: ITranslator | null
  ): void => {
    const trans = (translator ?? nullTranslator).load(DOMAIN);
    const item = new ClusterStatus(trans, clusters, () => {
      void app.commands.execute(CommandIDs.showPanel);
    });
    statusBar?.registerStatusItem('glassloom:status-bar', {
      item,
      align: 'left',
      rank: 30,
      isActive: () => clusters.active !== null,
      activeStateChanged: clusters.changed
    });
  }
};
