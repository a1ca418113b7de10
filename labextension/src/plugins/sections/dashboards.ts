/**
 * The section of dashboards.
 */
import {
  JupyterFrontEnd,
  JupyterFrontEndPlugin
} from '@jupyterlab/application';
import { IToolbarWidgetRegistry } from '@jupyterlab/apputils';
import { ISettingRegistry } from '@jupyterlab/settingregistry';
import { ITranslator } from '@jupyterlab/translation';
import { CommandIDs } from '../../commands';
import { DashboardsSection } from '../../panels/dashboards';
import { dragPane } from '../../panels/drag';
import {
  IClusters,
  IDashboards,
  IGlassloomPanel,
  IPages,
  IStateStream
} from '../../tokens';
import { makeToolbar } from './toolbar';
import { languageOf } from '../language';

const PLUGIN_ID = 'glassloom:dashboards-section';

export const dashboardsSectionPlugin: JupyterFrontEndPlugin<void> = {
  id: PLUGIN_ID,
  description: 'Shows the dashboards in the side panel.',
  autoStart: true,
  requires: [IGlassloomPanel, IStateStream, IClusters, IPages, IDashboards],
  optional: [ITranslator, ISettingRegistry, IToolbarWidgetRegistry],
  activate: (
    app: JupyterFrontEnd,
    panel: IGlassloomPanel,
    stream: IStateStream,
    clusters: IClusters,
    pages: IPages,
    dashboards: IDashboards,
    translator: ITranslator | null,
    settings: ISettingRegistry | null,
    toolbars: IToolbarWidgetRegistry | null
  ): void => {
    const trans = languageOf(translator);
    const { commands } = app;
    const { preferences } = dashboards;
    const widget = new DashboardsSection({
      trans,
      stream,
      clusters,
      pages,
      preferences,
      onApproach: () => dashboards.warmUp(),
      onOpen: page => void commands.execute(CommandIDs.openDashboard, { page }),
      onDrag: (event, page) => {
        if (clusters.active !== null) {
          dragPane(event, page.title, () => dashboards.makePane(page.id));
        }
      },
      onToggleFavourite: page => void preferences.toggleFavourite(page),
      onOpenLayout: name =>
        void commands.execute(CommandIDs.openLayout, { name }),
      onDeleteLayout: name => void preferences.deleteLayout(name)
    });
    panel.addSection({
      id: 'glassloom-dashboards',
      title: trans.__('Dashboards'),
      widget,
      rank: 200,
      size: 3,
      toolbar: makeToolbar(widget, {
        commands,
        translator,
        toolbars,
        settings,
        pluginId: PLUGIN_ID,
        factory: 'GlassloomDashboards',
        fallback: [CommandIDs.saveLayout]
      })
    });
  }
};
