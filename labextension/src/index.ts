/**
 * Glassloom's plugins. Each can be disabled alone: `jupyter labextension disable glassloom:running`.
 */
import { JupyterFrontEndPlugin } from '@jupyterlab/application';
import { cellStripPlugin } from './plugins/cellStrip';
import { clustersPlugin } from './plugins/clusters';
import { dashboardsPlugin } from './plugins/dashboards';
import { doctorPlugin } from './plugins/doctor';
import { exportsPlugin } from './plugins/exports';
import { launcherPlugin } from './plugins/launcher';
import {
  clustersModelPlugin,
  exportsModelPlugin,
  pagesModelPlugin,
  recordingsModelPlugin,
  runsModelPlugin,
  streamPlugin
} from './plugins/models';
import { notebooksPlugin } from './plugins/notebooks';
import { notificationsPlugin } from './plugins/notifications';
import { panelPlugin } from './plugins/panel';
import { recordingsPlugin } from './plugins/recordings';
import { runningPlugin } from './plugins/running';
import { clustersSectionPlugin } from './plugins/sections/clusters';
import { dashboardsSectionPlugin } from './plugins/sections/dashboards';
import { runsSectionPlugin } from './plugins/sections/runs';
import { statusBarPlugin } from './plugins/statusBar';

const plugins: JupyterFrontEndPlugin<unknown>[] = [
  // What is known.
  streamPlugin,
  clustersModelPlugin,
  runsModelPlugin,
  recordingsModelPlugin,
  exportsModelPlugin,
  pagesModelPlugin,
  notebooksPlugin,
  // What is shown and done.
  panelPlugin,
  clustersSectionPlugin,
  dashboardsSectionPlugin,
  runsSectionPlugin,
  clustersPlugin,
  dashboardsPlugin,
  recordingsPlugin,
  exportsPlugin,
  doctorPlugin,
  runningPlugin,
  statusBarPlugin,
  notificationsPlugin,
  launcherPlugin,
  // Below the cells of notebooks.
  cellStripPlugin
];

export default plugins;
export * from './tokens';
