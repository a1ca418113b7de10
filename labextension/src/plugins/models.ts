/**
 * The plugins that know things; the others ask them. They draw nothing.
 */
import {
  JupyterFrontEnd,
  JupyterFrontEndPlugin
} from '@jupyterlab/application';
import { ITranslator } from '@jupyterlab/translation';
import { Clusters } from '../model/clusters';
import { Exports } from '../model/exports';
import { Pages } from '../model/pages';
import { Recordings } from '../model/recordings';
import { Runs } from '../model/runs';
import { StateStream } from '../model/stateStream';
import { GlassloomAPI } from '../request';
import {
  IClusters,
  IExports,
  INotebooks,
  IPages,
  IRecordings,
  IRuns,
  IStateStream
} from '../tokens';
import { languageOf } from './language';

function apiOf(
  app: JupyterFrontEnd,
  translator: ITranslator | null
): GlassloomAPI {
  return new GlassloomAPI(
    app.serviceManager.serverSettings,
    languageOf(translator)
  );
}

export const streamPlugin: JupyterFrontEndPlugin<IStateStream> = {
  id: 'glassloom:stream',
  description: 'Follows the state of all clusters.',
  autoStart: true,
  optional: [ITranslator],
  provides: IStateStream,
  activate: (app: JupyterFrontEnd, translator: ITranslator | null) =>
    new StateStream(apiOf(app, translator), languageOf(translator))
};

export const clustersModelPlugin: JupyterFrontEndPlugin<IClusters> = {
  id: 'glassloom:clusters-model',
  description: 'Knows the clusters of this user and controls them.',
  autoStart: true,
  requires: [IStateStream],
  optional: [INotebooks, ITranslator],
  provides: IClusters,
  activate: (
    app: JupyterFrontEnd,
    stream: IStateStream,
    notebooks: INotebooks | null,
    translator: ITranslator | null
  ) =>
    new Clusters(
      apiOf(app, translator),
      stream,
      languageOf(translator),
      notebooks
    )
};

export const runsModelPlugin: JupyterFrontEndPlugin<IRuns> = {
  id: 'glassloom:runs-model',
  description: 'Knows the runs of all clusters.',
  autoStart: true,
  requires: [IStateStream],
  provides: IRuns,
  activate: (_: JupyterFrontEnd, stream: IStateStream) => new Runs(stream)
};

export const recordingsModelPlugin: JupyterFrontEndPlugin<IRecordings> = {
  id: 'glassloom:recordings-model',
  description: 'Knows the recordings and opens them for replay.',
  autoStart: true,
  requires: [IStateStream],
  optional: [ITranslator],
  provides: IRecordings,
  activate: (
    app: JupyterFrontEnd,
    stream: IStateStream,
    translator: ITranslator | null
  ) => new Recordings(apiOf(app, translator), stream)
};

export const exportsModelPlugin: JupyterFrontEndPlugin<IExports> = {
  id: 'glassloom:exports-model',
  description: 'Knows what recordings are written to.',
  autoStart: true,
  requires: [IStateStream],
  optional: [ITranslator],
  provides: IExports,
  activate: (
    app: JupyterFrontEnd,
    stream: IStateStream,
    translator: ITranslator | null
  ) => new Exports(apiOf(app, translator), stream)
};

export const pagesModelPlugin: JupyterFrontEndPlugin<IPages> = {
  id: 'glassloom:pages-model',
  description: 'Knows the dashboard pages.',
  autoStart: true,
  requires: [IStateStream],
  optional: [ITranslator],
  provides: IPages,
  activate: (
    app: JupyterFrontEnd,
    stream: IStateStream,
    translator: ITranslator | null
  ) => new Pages(apiOf(app, translator), stream)
};
