/**
 * The active cluster in the status bar.
 */
import {
  JupyterFrontEnd,
  JupyterFrontEndPlugin
} from '@jupyterlab/application';
import { IStatusBar } from '@jupyterlab/statusbar';
import { ITranslator } from '@jupyterlab/translation';
import { CommandIDs } from '../commands';
import { ClusterStatus } from '../panels/status';
import { IClusters, IStateStream } from '../tokens';
import { languageOf } from './language';

export const statusBarPlugin: JupyterFrontEndPlugin<void> = {
  id: 'glassloom:status-bar',
  description: 'Shows the active cluster in the status bar.',
  autoStart: true,
  requires: [IStateStream, IClusters],
  optional: [IStatusBar, ITranslator],
  activate: (
    app: JupyterFrontEnd,
    stream: IStateStream,
    clusters: IClusters,
    statusBar: IStatusBar | null,
    translator: ITranslator | null
  ): void => {
    const trans = languageOf(translator);
    const item = new ClusterStatus(trans, stream.clock, clusters, () => {
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
