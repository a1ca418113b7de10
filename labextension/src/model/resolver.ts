/**
 * Says which cluster or recording a pane's target is now, and opens recordings that panes wait for.
 */
import { PathExt } from '@jupyterlab/coreutils';
import { ISignal, Signal } from '@lumino/signaling';
import { IClusters, IRecordings, PaneTarget } from '../tokens';

export interface IShown {
  id: string;
  name: string;
}

export class Resolver {
  constructor(
    private readonly _clusters: IClusters,
    private readonly _recordings: IRecordings
  ) {
    _clusters.changed.connect(this._emit, this);
    _recordings.changed.connect(this._emit, this);
  }

  /** A target may be another one than before. */
  get changed(): ISignal<this, void> {
    return this._changed;
  }

  resolve(target: PaneTarget): IShown | null {
    switch (target.kind) {
      case 'cluster':
        return (
          this._clusters.find(target.id) ?? this._recordings.find(target.id)
        );
      case 'notebook':
        return this._clusters.ofNotebook(target.path);
      case 'active':
        return this._clusters.active;
      case 'recording': {
        const id = this._recordings.idOf(target.path);
        if (id === null) {
          return null;
        }
        const name = PathExt.basename(target.path);
        return this._recordings.find(id) ?? { id, name };
      }
    }
  }

  /** Open the file of a recording, if that is what the target is; why it can't be is `problemOf` then. */
  async prepare(target: PaneTarget): Promise<void> {
    if (target.kind !== 'recording' || this._isOpening.has(target.path)) {
      return;
    }
    const { path } = target;
    this._isOpening.add(path);
    this._problems.delete(path);
    try {
      await this._recordings.replay(path);
    } catch (error) {
      this._problems.set(
        path,
        error instanceof Error ? error.message : String(error)
      );
    } finally {
      this._isOpening.delete(path);
      this._emit();
    }
  }

  /** Whether a recording is being opened. */
  isComing(target: PaneTarget): boolean {
    return target.kind === 'recording' && this._isOpening.has(target.path);
  }

  problemOf(target: PaneTarget): string | null {
    return target.kind === 'recording'
      ? (this._problems.get(target.path) ?? null)
      : null;
  }

  private _emit(): void {
    this._changed.emit();
  }

  private readonly _changed = new Signal<this, void>(this);
  private readonly _isOpening = new Set<string>();
  private readonly _problems = new Map<string, string>();
}
