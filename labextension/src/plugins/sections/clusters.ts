/**
 * The section of clusters.
 */
import {
  JupyterFrontEnd,
  JupyterFrontEndPlugin
} from '@jupyterlab/application';
import { IToolbarWidgetRegistry } from '@jupyterlab/apputils';
import { ISettingRegistry } from '@jupyterlab/settingregistry';
import { ITranslator } from '@jupyterlab/translation';
import { CARD_COMMANDS, CommandIDs } from '../../commands';
import { ClustersSection } from '../../panels/clusters';
import {
  IClusters,
  IDashboards,
  IGlassloomPanel,
  INotebooks,
  IRecordings,
  IStateStream
} from '../../tokens';
import { messageOf, tellFailure } from '../endings';
import { openMenu } from './menu';
import { makeToolbar } from './toolbar';
import { languageOf } from '../language';

const PLUGIN_ID = 'glassloom:clusters-section';

export const clustersSectionPlugin: JupyterFrontEndPlugin<void> = {
  id: PLUGIN_ID,
  description: 'Shows the clusters in the side panel.',
  autoStart: true,
  requires: [IGlassloomPanel, IStateStream, IClusters, IRecordings],
  optional: [
    ITranslator,
    INotebooks,
    ISettingRegistry,
    IToolbarWidgetRegistry,
    IDashboards
  ],
  activate: (
    app: JupyterFrontEnd,
    panel: IGlassloomPanel,
    stream: IStateStream,
    clusters: IClusters,
    recordings: IRecordings,
    translator: ITranslator | null,
    notebooks: INotebooks | null,
    settings: ISettingRegistry | null,
    toolbars: IToolbarWidgetRegistry | null,
    dashboards: IDashboards | null
  ): void => {
    const trans = languageOf(translator);
    const { commands } = app;
    const execute = (command: string, args: Record<string, string>): void => {
      void commands.execute(command, args);
    };
    const widget = new ClustersSection({
      trans,
      stream,
      clusters,
      recordings,
      notebooks,
      onApproach: () => dashboards?.warmUp(),
      onOpen: cluster => execute(CommandIDs.openDashboard, { cluster }),
      onInsert: cluster => execute(CommandIDs.insertClient, { cluster }),
      onMenu: (cluster, { left, bottom }) =>
        openMenu(
          commands,
          CARD_COMMANDS.map(command => ({ command, args: { cluster } })),
          left,
          bottom
        ),
      onOpenFile: path => execute('docmanager:open', { path }),
      onDismissStart: id =>
        void clusters.dismissStart(id).catch((error: unknown) => {
          tellFailure(messageOf(error));
        }),
      onRetryStart: start => execute(CommandIDs.newCluster, { start }),
      onCloseRecording: recording =>
        execute(CommandIDs.closeRecording, { recording })
    });
    panel.addSection({
      id: 'glassloom-clusters',
      title: trans.__('Clusters'),
      widget,
      rank: 100,
      size: 3,
      toolbar: makeToolbar(widget, {
        commands,
        translator,
        toolbars,
        settings,
        pluginId: PLUGIN_ID,
        factory: 'GlassloomClusters',
        fallback: [CommandIDs.newCluster]
      })
    });
  }
};
