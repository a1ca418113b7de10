/**
 * Puts a strip below each cell that runs something on a cluster. It needs neither the server extension nor our other plugins.
 */
import {
  JupyterFrontEnd,
  JupyterFrontEndPlugin
} from '@jupyterlab/application';
import { ISessionContext } from '@jupyterlab/apputils';
import { DocumentRegistry } from '@jupyterlab/docregistry';
import { ISettingRegistry } from '@jupyterlab/settingregistry';
import { ITranslator, TranslationBundle } from '@jupyterlab/translation';
import { CommandRegistry } from '@lumino/commands';
import { DisposableDelegate, IDisposable } from '@lumino/disposable';
import { ISignal } from '@lumino/signaling';
import { PanelLayout, Widget } from '@lumino/widgets';
import { CommandIDs } from '../commands';
import { CellRuns } from '../model/cellRuns';
import { staticSummary } from '../model/cellText';
import { CellStrip, IStripSettings } from '../panels/cellStrip';
import { languageOf } from './language';
import { loadSettings } from './settings';

const PLUGIN_ID = 'glassloom:cellStrip';
const RUNS_PAGE = 'runs';

interface ISettings extends IStripSettings {
  isShown: boolean;
  savesSummary: boolean;
}

const DEFAULTS: ISettings = {
  isShown: true,
  savesSummary: false,
  open: 'while running',
  minimumSeconds: 0.5
};

/** What is used of a `CodeCell` of `@jupyterlab/cells`; no build of ours needs that package. */
interface ICodeCell extends Widget {
  readonly model: {
    readonly id: string;
    readonly type: string;
    readonly stateChanged: ISignal<unknown, IStateChange>;
  };
  readonly ready?: Promise<void>;
  readonly outputArea?: Widget & {
    readonly model: { add(output: object): number };
  };
}

/** What is used of a change of a cell's state. */
interface IStateChange {
  readonly name: string;
  readonly newValue: unknown;
}

/** What is used of a `NotebookPanel` of `@jupyterlab/notebook`. */
interface INotebookPanel extends Widget {
  readonly sessionContext: ISessionContext;
  readonly content: Widget & {
    readonly widgets: readonly Widget[];
    readonly modelContentChanged: ISignal<unknown, void>;
  };
}

export const cellStripPlugin: JupyterFrontEndPlugin<void> = {
  id: PLUGIN_ID,
  description: 'Shows below a cell how far what it computes is.',
  autoStart: true,
  optional: [ISettingRegistry, ITranslator],
  activate: (
    app: JupyterFrontEnd,
    registry: ISettingRegistry | null,
    translator: ITranslator | null
  ): void => {
    const trans = languageOf(translator);
    const open = new Set<NotebookStrips>();
    let settings = DEFAULTS;
    void loadSettings(registry, PLUGIN_ID, trans, composite => {
      settings = settingsOf(composite);
      open.forEach(strips => strips.setSettings(settings));
    });
    app.docRegistry.addWidgetExtension('Notebook', {
      createNew: (panel: Widget): IDisposable => {
        const strips = new NotebookStrips(
          panel as INotebookPanel,
          app.commands,
          trans,
          settings
        );
        open.add(strips);
        return new DisposableDelegate(() => {
          open.delete(strips);
          strips.dispose();
        });
      }
    } satisfies DocumentRegistry.WidgetExtension);
  }
};

function settingsOf(
  composite: ISettingRegistry.ISettings['composite']
): ISettings {
  const { showStrip, open, minimumSeconds, saveSummary } = composite;
  return {
    isShown: showStrip !== false,
    savesSummary: saveSummary === true,
    open: open === 'always' || open === 'never' ? open : DEFAULTS.open,
    minimumSeconds:
      typeof minimumSeconds === 'number'
        ? minimumSeconds
        : DEFAULTS.minimumSeconds
  };
}

/** The strips of one view of a notebook. Its cells' widgets come and go: moved cells get new ones. */
export class NotebookStrips implements IDisposable {
  constructor(
    private readonly _panel: INotebookPanel,
    private readonly _commands: CommandRegistry,
    private readonly _trans: TranslationBundle,
    private _settings: ISettings
  ) {
    this.runs = new CellRuns(_panel.sessionContext);
    this.runs.changed.connect(this._onChanged, this);
    _panel.content.modelContentChanged.connect(this._place, this);
    this._place();
  }

  readonly runs: CellRuns;

  get isDisposed(): boolean {
    return this.runs.isDisposed;
  }

  setSettings(settings: ISettings): void {
    this._settings = settings;
    this._strips.forEach(strip => strip.setSettings(settings));
    this._place();
  }

  dispose(): void {
    if (!this.isDisposed) {
      this._panel.content.modelContentChanged.disconnect(this._place, this);
      this.runs.dispose();
      this._strips.forEach(strip => strip.dispose());
      this._strips.clear();
    }
  }

  private _onChanged(_: unknown, cells: readonly string[]): void {
    this._place();
    for (const cell of cells) {
      const state = this.runs.find(cell)?.state;
      if (state?.outcome === 'running' || state?.executing) {
        this._seenRunning.set(cell, state.execution);
      } else if (this._settings.savesSummary) {
        this._saveOnce(cell);
      }
    }
  }

  /** Give every cell of which something is known a strip, where it has none. */
  private _place(): void {
    if (this.isDisposed || this.runs.cells.length === 0) {
      return;
    }
    for (const [cell, strip] of this._strips) {
      if (strip.isDisposed || !this._settings.isShown) {
        strip.dispose();
        this._strips.delete(cell);
      }
    }
    if (!this._settings.isShown) {
      return;
    }
    for (const widget of this._panel.content.widgets) {
      const cell = widget as ICodeCell;
      if (
        cell.model.type === 'code' &&
        this.runs.find(cell.model.id) !== null &&
        !this._strips.has(cell)
      ) {
        this._strips.set(cell, this._addStrip(cell));
      }
    }
  }

  private _addStrip(cell: ICodeCell): CellStrip {
    const strip = new CellStrip({
      cell: cell.model.id,
      runs: this.runs,
      trans: this._trans,
      settings: this._settings,
      openRun: this._commands.hasCommand(CommandIDs.openDashboard)
        ? (cluster, run) =>
            void this._commands.execute(CommandIDs.openDashboard, {
              cluster,
              page: RUNS_PAGE,
              run
            })
        : null,
      keepSummary: () => this._save(cell)
    });
    const { stateChanged } = cell.model;
    const onStateChanged = (_: unknown, change: IStateChange): void =>
      this._onCellState(cell.model.id, change);
    stateChanged.connect(onStateChanged);
    strip.disposed.connect(() => stateChanged.disconnect(onStateChanged));
    // A cell that was never in view has no parts yet.
    void Promise.resolve(cell.ready).then(() => {
      if (!cell.isDisposed && !strip.isDisposed) {
        insertAboveOutput(cell, strip);
      }
    });
    return strip;
  }

  /** A cell is executed again, or its output was cleared: what stood below it is of an output that is gone. */
  private _onCellState(id: string, { name, newValue }: IStateChange): void {
    const isAgain = name === 'executionState' && newValue === 'running';
    const isCleared = name === 'executionCount' && newValue === null;
    const isUnderWay = this.runs.find(id)?.state.outcome === 'running';
    if (isAgain || (isCleared && !isUnderWay)) {
      this.runs.forget(id);
    }
  }

  private _saveOnce(id: string): void {
    const state = this.runs.find(id)?.state;
    const isOver = state && state.outcome !== 'running' && !state.executing;
    if (!isOver || this._saved.get(id) === state.execution) {
      return;
    }
    for (const widget of this._panel.content.widgets) {
      const cell = widget as ICodeCell;
      // What a page has not seen running was saved by the page that has.
      if (
        cell.model.id === id &&
        this._seenRunning.get(id) === state.execution
      ) {
        this._saved.set(id, state.execution);
        this._save(cell);
      }
    }
  }

  private _save(cell: ICodeCell): void {
    const entry = this.runs.find(cell.model.id);
    if (entry !== null) {
      const text = staticSummary(this._trans, entry.state, entry.clockMs);
      cell.outputArea?.model.add({
        output_type: 'display_data',
        data: { 'text/plain': text },
        metadata: {}
      });
    }
  }

  private readonly _strips = new Map<ICodeCell, CellStrip>();
  private readonly _saved = new Map<string, number>();
  private readonly _seenRunning = new Map<string, number>();
}

function insertAboveOutput(cell: Widget, strip: Widget): void {
  if (!(cell.layout instanceof PanelLayout)) {
    return;
  }
  const output = cell.layout.widgets.findIndex(widget =>
    widget.hasClass('jp-Cell-outputWrapper')
  );
  cell.layout.insertWidget(
    output < 0 ? cell.layout.widgets.length : output,
    strip
  );
}
