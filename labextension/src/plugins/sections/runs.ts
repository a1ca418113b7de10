/**
 * The section of runs.
 */
import {
  JupyterFrontEnd,
  JupyterFrontEndPlugin
} from '@jupyterlab/application';
import { IToolbarWidgetRegistry } from '@jupyterlab/apputils';
import { ISettingRegistry } from '@jupyterlab/settingregistry';
import { ITranslator } from '@jupyterlab/translation';
import { CommandIDs } from '../../commands';
import { csvOf } from '../../model/runs';
import { RunsSection } from '../../panels/runs';
import {
  IGlassloomPanel,
  INotebooks,
  IRecordings,
  IRuns,
  IStateStream
} from '../../tokens';
import { makeToolbar } from './toolbar';
import { languageOf } from '../language';

const PLUGIN_ID = 'glassloom:runs-section';
/** The dashboard page that shows runs, also two side by side. */
const RUNS_PAGE = 'runs';

export const runsSectionPlugin: JupyterFrontEndPlugin<void> = {
  id: PLUGIN_ID,
  description: 'Shows runs and recordings in the side panel.',
  autoStart: true,
  requires: [IGlassloomPanel, IStateStream, IRuns, IRecordings],
  optional: [ITranslator, INotebooks, ISettingRegistry, IToolbarWidgetRegistry],
  activate: (
    app: JupyterFrontEnd,
    panel: IGlassloomPanel,
    stream: IStateStream,
    runs: IRuns,
    recordings: IRecordings,
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
      notebooks,
      onOpen: (cluster, run) =>
        void commands.execute(CommandIDs.openDashboard, {
          cluster,
          page: RUNS_PAGE,
          run
        }),
      onCompare: (one, other) =>
        void commands.execute(CommandIDs.openDashboard, {
          cluster: one.cluster.id,
          page: RUNS_PAGE,
          run: `${one.id},${other.id}`
        }),
      onReplay: path =>
        void commands.execute(CommandIDs.openRecording, { path })
    });
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

function download(name: string, text: string): void {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(new Blob([text], { type: 'text/csv' }));
  link.download = name;
  link.click();
  URL.revokeObjectURL(link.href);
}
