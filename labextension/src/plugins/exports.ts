/**
 * Recordings and clusters in other formats: asking for them, and opening what was made.
 */
import {
  JupyterFrontEnd,
  JupyterFrontEndPlugin
} from '@jupyterlab/application';
import {
  ICommandPalette,
  InputDialog,
  Notification
} from '@jupyterlab/apputils';
import { PathExt, URLExt } from '@jupyterlab/coreutils';
import { ITranslator, TranslationBundle } from '@jupyterlab/translation';
import { downloadIcon } from '@jupyterlab/ui-components';
import { ReadonlyPartialJSONObject } from '@lumino/coreutils';
import { CommandIDs, PALETTE_CATEGORY } from '../commands';
import {
  canDownload,
  canOpen,
  describeFormat,
  FORMATS
} from '../model/formats';
import {
  IClusters,
  IExport,
  IExports,
  IRecordings,
  ExportFormat
} from '../tokens';
import { messageOf, tellFailure } from './endings';
import { languageOf } from './language';
import { openTabs } from './tabs';
import { underMenu } from './underMenu';

interface IContext {
  app: JupyterFrontEnd;
  trans: TranslationBundle;
  clusters: IClusters;
  exported: IExports;
}

export const exportsPlugin: JupyterFrontEndPlugin<void> = {
  id: 'glassloom:exports',
  description: 'Exports recordings, and opens what was exported.',
  autoStart: true,
  requires: [IClusters, IRecordings, IExports],
  optional: [ITranslator, ICommandPalette],
  activate: (
    app: JupyterFrontEnd,
    clusters: IClusters,
    recordings: IRecordings,
    exported: IExports,
    translator: ITranslator | null,
    palette: ICommandPalette | null
  ): void => {
    const trans = languageOf(translator);
    const context = { app, trans, clusters, exported };
    addExport(context);
    addOpenAndDownload(context);
    palette?.addItem({
      command: CommandIDs.export,
      category: PALETTE_CATEGORY,
      args: { isPalette: true }
    });
    exported.ended.connect((_, ended) => {
      tellEnd(context, ended);
      void recordings.refresh();
    });
  }
};

function addExport(context: IContext): void {
  const { app, trans, clusters } = context;
  app.commands.addCommand(CommandIDs.export, {
    label: args =>
      args.isPalette
        ? trans.__('Record and Export the Active Cluster…')
        : isFormat(args.to)
          ? trans.__('Export as %1', describeFormat(trans, args.to))
          : trans.__('Record and Export…'),
    caption: args =>
      args.to === undefined
        ? trans.__('Record all that the log of a cluster has, and export it')
        : '',
    isEnabled: args =>
      args.isPalette !== true || whatOf(context, args) !== null,
    describedBy: {
      args: {
        type: 'object',
        properties: {
          path: { type: 'string', description: 'Path of a .glr file.' },
          cluster: {
            type: 'string',
            description:
              'Id of a cluster, which is recorded first; the active one if no path is given.'
          },
          to: {
            type: 'string',
            enum: ['recording', ...FORMATS],
            description: 'What to make; it is asked for if not given.'
          }
        }
      }
    },
    execute: args => {
      const what = whatOf(context, args);
      return what === null ? undefined : exportWhat(context, what, args.to);
    }
  });
  let active: string | undefined;
  clusters.changed.connect(() => {
    if (active !== clusters.active?.id) {
      active = clusters.active?.id;
      app.commands.notifyCommandChanged(CommandIDs.export);
    }
  });
}

type What = { path: string } | { cluster: string };

/** Return what the arguments, or the row under the context menu, mean. */
function whatOf(
  { app, clusters }: IContext,
  args: ReadonlyPartialJSONObject
): What | null {
  const under = args.isContextMenu === true ? underMenu(app) : args;
  if (typeof under.path === 'string') {
    return { path: under.path };
  }
  const id = typeof under.cluster === 'string' ? under.cluster : null;
  const cluster = id === null ? clusters.active : clusters.find(id);
  return cluster === null ? null : { cluster: cluster.id };
}

async function exportWhat(
  { trans, clusters, exported }: IContext,
  what: What,
  format: unknown
): Promise<void> {
  const name =
    'path' in what
      ? PathExt.basename(what.path)
      : (clusters.find(what.cluster)?.name ?? what.cluster);
  const to = isFormat(format) ? format : await askForFormat(trans, name, what);
  if (to === null) {
    return;
  }
  try {
    await ('path' in what
      ? exported.exportRecording(what.path, to)
      : exported.exportCluster(what.cluster, to));
  } catch (error) {
    tellFailure(
      trans.__('%1 could not be exported: %2', name, messageOf(error))
    );
  }
}

async function askForFormat(
  trans: TranslationBundle,
  name: string,
  what: What
): Promise<IExport['to'] | null> {
  const offered: IExport['to'][] =
    'path' in what ? [...FORMATS] : ['recording', ...FORMATS];
  const items = offered.map(to => describeFormat(trans, to));
  const { button, value } = await InputDialog.getItem({
    title:
      'path' in what
        ? trans.__('Export %1', name)
        : trans.__('Record and export %1', name),
    label: trans.__('Format'),
    items,
    okLabel: trans.__('Export')
  });
  return button.accept ? (offered[items.indexOf(value ?? '')] ?? null) : null;
}

function isFormat(value: unknown): value is ExportFormat | 'recording' {
  return ['recording', ...FORMATS].includes(value as ExportFormat);
}

function addOpenAndDownload(context: IContext): void {
  const { app, trans, exported } = context;
  const describedBy = {
    args: {
      type: 'object',
      properties: {
        export: { type: 'string', description: 'Id of the export.' }
      },
      required: ['export']
    }
  } as const;
  app.commands.addCommand(CommandIDs.openExport, {
    label: trans.__('Open an Export'),
    describedBy,
    execute: async args => {
      const made = exported.find(String(args.export));
      if (made !== null && canOpen(made)) {
        await openExport(context, made);
      }
    }
  });
  app.commands.addCommand(CommandIDs.downloadExport, {
    label: trans.__('Download an Export'),
    icon: downloadIcon,
    describedBy,
    execute: async args => {
      const made = exported.find(String(args.export));
      if (made !== null && made.output !== null && canDownload(made)) {
        const { contents } = app.serviceManager;
        const link = document.createElement('a');
        link.href = await contents.getDownloadUrl(made.output);
        link.download = PathExt.basename(made.output);
        link.click();
      }
    }
  });
}

/** Show what was made: a report in a browser tab, a folder in the file browser, a recording as a replay. */
async function openExport(
  { app, trans }: IContext,
  { to, output }: IExport
): Promise<void> {
  const { commands, serviceManager } = app;
  const path = output ?? '';
  if (to === 'recording') {
    await commands.execute(CommandIDs.openRecording, { path });
  } else if (to === 'report') {
    const url = await serviceManager.contents.getDownloadUrl(path);
    openTabs(trans, [{ url, name: PathExt.basename(path) }]);
  } else if (commands.hasCommand('filebrowser:go-to-path')) {
    await commands.execute('filebrowser:go-to-path', { path });
  } else {
    const { baseUrl } = serviceManager.serverSettings;
    const url = URLExt.join(baseUrl, 'tree', URLExt.encodeParts(path));
    openTabs(trans, [{ url, name: PathExt.basename(path) }]);
  }
}

/** Tell what became of an export, with what can be done with it. */
function tellEnd({ app, trans }: IContext, made: IExport): void {
  const what = trans.__('%1 of %2', describeFormat(trans, made.to), made.name);
  if (made.state === 'failed') {
    tellFailure(trans.__('%1 could not be made: %2', what, made.problem));
    return;
  }
  const action = (label: string, command: string): Notification.IAction => ({
    label,
    callback: () => void app.commands.execute(command, { export: made.id })
  });
  Notification.success(trans.__('%1 is done: %2', what, made.output ?? ''), {
    autoClose: 10_000,
    actions: [
      ...(canOpen(made)
        ? [action(trans.__('Open'), CommandIDs.openExport)]
        : []),
      ...(canDownload(made)
        ? [action(trans.__('Download'), CommandIDs.downloadExport)]
        : [])
    ]
  });
}
