/**
 * The plugin that knows the clusters; the others ask it.
 */
import {
  JupyterFrontEnd,
  JupyterFrontEndPlugin
} from '@jupyterlab/application';
import { ClusterModel } from '../model/clusters';
import { GlassloomAPI } from '../request';
import { IClusterModel } from '../tokens';

export const modelPlugin: JupyterFrontEndPlugin<IClusterModel> = {
  id: 'glassloom:model',
  description: 'Follows the clusters of this user.',
  autoStart: true,
  provides: IClusterModel,
  activate: (app: JupyterFrontEnd): IClusterModel =>
    new ClusterModel(new GlassloomAPI(app.serviceManager.serverSettings))
};
