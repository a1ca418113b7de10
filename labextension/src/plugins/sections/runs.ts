/**
 * The section of runs.
 */
import {
  JupyterFrontEnd,
  JupyterFrontEndPlugin
} from '@jupyterlab/application';
import { Clipboard, IToolbarWidgetRegistry } from '@jupyterlab/apputils';
import { ISettingRegistry } from '@jupyterlab/settingregistry';
import { ITranslator, TranslationBundle } from '@jupyterlab/translation';
import { ReadonlyPartialJSONObject } from '@lumino/coreutils';
import { CommandRegistry } from '@lumino/commands';
import { CommandIDs } from '../../commands';
import { csvOf } from '../../model/runs';
import { FORMATS } from '../../model/formats';
import { nameOf, RunsSection } from '../../panels/runs';
import {
  IClusterRun,
  IExports,
  IGlassloomPanel,
  INotebooks,
  IRecordings,
  IRuns,
  IStateStream
} from '../../tokens';
import { messageOf, tellFailure } from '../endings';
import { languageOf } from '../language';
import { underMenu } from '../underMenu';
import { openMenu } from './menu';
import { makeToolbar } from './toolbar';

const PLUGIN_ID = 'glassloom:runs-section';
/** The dashboard page that shows runs, also two side by side. */
const RUNS_PAGE = 'runs';

export const runsSectionPlugin: JupyterFrontEndPlugin<void> = {
  id: PLUGIN_ID,
  description: 'Shows runs and recordings in the side panel.',
  autoStart: true,
  requires: [IGlassloomPanel, IStateStream, IRuns, IRecordings, IExports],
  optional: [ITranslator, INotebooks, ISettingRegistry, IToolbarWidgetRegistry],
  activate: (
    app: JupyterFrontEnd,
    panel: IGlassloomPanel,
    stream: IStateStream,
    runs: IRuns,
    recordings: IRecordings,
    exported: IExports,
    translator: ITranslator | null,
    notebooks: INotebooks | null,
    settings: ISettingRegistry | null,
    toolbars: IToolbarWidgetRegistry | null
  ): void => {
    const trans = languageOf(translator);
    const { commands } = app;
    const widget = new RunsSection({
      trans,
      stream,
      runs,
      recordings,
      exported,
      notebooks,
      onOpen: (cluster, run) =>
        void commands.execute(CommandIDs.openRun, { cluster, run }),
      onCompare: (one, other) => void compare(commands, one, other),
      onReplay: path =>
        void commands.execute(CommandIDs.openRecording, { path }),
      onExport: (path, { left, bottom }) =>
        openMenu(
          commands,
          FORMATS.map(to => ({
            command: CommandIDs.export,
            args: { path, to }
          })),
          left,
          bottom
        ),
      onOpenExport: id =>
        void commands.execute(CommandIDs.openExport, { export: id }),
      onDownloadExport: id =>
        void commands.execute(CommandIDs.downloadExport, { export: id }),
      onDismissExport: id =>
        void exported.dismiss(id).catch((error: unknown) => {
          tellFailure(messageOf(error));
        })
    });
    addRunCommands({ app, trans, widget, notebooks });
    commands.addCommand(CommandIDs.saveRuns, {
      label: trans.__('Save the List of Runs…'),
      caption: trans.__('Save the list of runs as a CSV file'),
      isEnabled: () => widget.shown.length > 0,
      describedBy: { args: { type: 'object', properties: {} } },
      execute: () => download('runs.csv', csvOf(widget.shown))
    });
    let isEmpty = true;
    runs.changed.connect(() => {
      if (isEmpty !== (widget.shown.length === 0)) {
        isEmpty = !isEmpty;
        commands.notifyCommandChanged(CommandIDs.saveRuns);
      }
    });
    panel.addSection({
      id: 'glassloom-runs',
      title: trans.__('Runs'),
      widget,
      rank: 300,
      size: 2,
      toolbar: makeToolbar(widget, {
        commands,
        translator,
        toolbars,
        settings,
        pluginId: PLUGIN_ID,
        factory: 'GlassloomRuns',
        fallback: [CommandIDs.saveRuns]
      })
    });
  }
};

interface IRunContext {
  app: JupyterFrontEnd;
  trans: TranslationBundle;
  widget: RunsSection;
  notebooks: INotebooks | null;
}

/** What the context menu of a run offers. */
function addRunCommands(context: IRunContext): void {
  const { app, trans, widget, notebooks } = context;
  const { commands } = app;
  const runOf = (args: ReadonlyPartialJSONObject): IClusterRun | null => {
    const { cluster, run } =
      args.isContextMenu === true ? underMenu(app) : args;
    return widget.find(String(cluster), String(run));
  };
  /** The run that is selected beside another one. */
  const otherThan = (run: IClusterRun | null): IClusterRun | undefined =>
    widget.selection.find(
      ({ id, cluster }) => id !== run?.id || cluster.id !== run.cluster.id
    );
  commands.addCommand(CommandIDs.openRun, {
    label: trans.__('Open Run'),
    describedBy: RUN_ARGS,
    execute: async args => {
      const { cluster, run } =
        args.isContextMenu === true ? underMenu(app) : args;
      await commands.execute(CommandIDs.openDashboard, {
        cluster: String(cluster),
        page: RUNS_PAGE,
        run: String(run)
      });
    }
  });
  commands.addCommand(CommandIDs.compareRuns, {
    label: args => {
      const other = otherThan(runOf(args));
      return other === undefined
        ? trans.__('Select to Compare')
        : trans.__('Compare with %1', nameOf(other));
    },
    describedBy: RUN_ARGS,
    execute: async args => {
      const run = runOf(args);
      const other = otherThan(run);
      if (run !== null && other === undefined) {
        widget.toggle(run);
      } else if (run !== null && other !== undefined) {
        const [one, two] =
          run.started_at < other.started_at ? [run, other] : [other, run];
        await compare(commands, one, two);
      }
    }
  });
  commands.addCommand(CommandIDs.copyRunCode, {
    label: trans.__('Copy the Code of Its Cell'),
    isEnabled: args => {
      const run = runOf(args);
      return notebooks !== null && !!run?.notebook && !!run.cell_id;
    },
    describedBy: RUN_ARGS,
    execute: async args => {
      const { notebook, cell_id } = runOf(args) ?? {};
      if (notebooks !== null && notebook && cell_id) {
        await copyCode(trans, notebooks, notebook, cell_id);
      }
    }
  });
}

const RUN_ARGS = {
  args: {
    type: 'object',
    properties: {
      cluster: { type: 'string', description: 'Id of its cluster.' },
      run: { type: 'string', description: 'Id of the run.' }
    }
  }
} as const;

async function copyCode(
  trans: TranslationBundle,
  notebooks: INotebooks,
  notebook: string,
  cell: string
): Promise<void> {
  try {
    const code = await notebooks.codeOf(notebook, cell);
    if (code === null) {
      tellFailure(trans.__('%1 does not have that cell any more.', notebook));
    } else {
      Clipboard.copyToSystem(code);
    }
  } catch (error) {
    tellFailure(trans.__('%1 cannot be read: %2', notebook, messageOf(error)));
  }
}

/** Show two runs: of one cluster in one page, of two clusters in the page of each, beside each other. */
async function compare(
  commands: CommandRegistry,
  one: IClusterRun,
  other: IClusterRun
): Promise<void> {
  const page = RUNS_PAGE;
  if (one.cluster.id === other.cluster.id) {
    const { id: cluster } = one.cluster;
    const run = `${one.id},${other.id}`;
    await commands.execute(CommandIDs.openDashboard, { cluster, page, run });
    return;
  }
  const [first, second] = [one, other].map(({ id, cluster }) => ({
    cluster: cluster.id,
    page,
    run: id
  }));
  await commands.execute(CommandIDs.openDashboard, first);
  await commands.execute(CommandIDs.openDashboard, {
    ...second,
    mode: 'split-right',
    beside: first
  });
}

function download(name: string, text: string): void {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(new Blob([text], { type: 'text/csv' }));
  link.download = name;
  link.click();
  URL.revokeObjectURL(link.href);
}
