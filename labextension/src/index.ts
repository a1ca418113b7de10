/**
 * Glassloom's plugins. Each can be disabled alone: `jupyter labextension disable glassloom:running`.
 */
import { JupyterFrontEndPlugin } from '@jupyterlab/application';
import { cellStripPlugin } from './plugins/cellStrip';
import { clustersPlugin } from './plugins/clusters';
import { dashboardsPlugin } from './plugins/dashboards';
import { modelPlugin } from './plugins/model';
import { panelPlugin } from './plugins/panel';
import { runningPlugin } from './plugins/running';
import { IClusterModel } from './tokens';

const plugins: JupyterFrontEndPlugin<IClusterModel | void>[] = [
  cellStripPlugin,
  modelPlugin,
  clustersPlugin,
  dashboardsPlugin,
  panelPlugin,
  runningPlugin
];

export default plugins;
export * from './tokens';
