/**
 * The notebook in front, for those who need no more of it than its path and a place for code.
 */
import {
  JupyterFrontEnd,
  JupyterFrontEndPlugin
} from '@jupyterlab/application';
import {
  INotebookTracker,
  NotebookActions,
  NotebookPanel
} from '@jupyterlab/notebook';
import { Contents } from '@jupyterlab/services';
import { ISignal, Signal } from '@lumino/signaling';
import { INotebooks } from '../tokens';

/** As much of a saved notebook as we read. */
interface INotebookContent {
  cells: { id?: string; source: string | string[] }[];
}

class Notebooks implements INotebooks {
  constructor(
    private readonly _tracker: INotebookTracker,
    private readonly _contents: Contents.IManager
  ) {
    _tracker.currentChanged.connect(this._onCurrent, this);
    this._onCurrent();
  }

  get changed(): ISignal<this, void> {
    return this._changed;
  }

  get current(): string | null {
    return this._tracker.currentWidget?.context.path ?? null;
  }

  insert(code: string): boolean {
    const panel = this._tracker.currentWidget;
    if (panel === null) {
      return false;
    }
    // What is put into a notebook that is still being loaded would be lost.
    void panel.revealed.then(() => {
      if (!panel.isDisposed) {
        NotebookActions.insertAbove(panel.content);
        panel.content.activeCell?.model.sharedModel.setSource(code);
      }
    });
    return true;
  }

  async codeOf(path: string, cell: string): Promise<string | null> {
    const open = this._tracker.find(({ context }) => context.path === path);
    for (const model of open?.model?.cells ?? []) {
      if (model.id === cell) {
        return model.sharedModel.getSource();
      }
    }
    if (open !== undefined) {
      return null;
    }
    const { content } = await this._contents.get(path);
    const { cells } = content as INotebookContent;
    const saved = cells.find(({ id }) => id === cell)?.source;
    return saved === undefined ? null : [saved].flat().join('');
  }

  private _onCurrent(): void {
    this._panel?.context.pathChanged.disconnect(this._emit, this);
    this._panel = this._tracker.currentWidget;
    this._panel?.context.pathChanged.connect(this._emit, this);
    this._emit();
  }

  private _emit(): void {
    this._changed.emit();
  }

  private readonly _changed = new Signal<this, void>(this);
  private _panel: NotebookPanel | null = null;
}

export const notebooksPlugin: JupyterFrontEndPlugin<INotebooks> = {
  id: 'glassloom:notebooks',
  description: 'Knows the notebook in front.',
  autoStart: true,
  requires: [INotebookTracker],
  provides: INotebooks,
  activate: (app: JupyterFrontEnd, tracker: INotebookTracker): INotebooks =>
    new Notebooks(tracker, app.serviceManager.contents)
};
