/**
 * Recordings and clusters that are written to files in other formats; the server's stream tells what becomes of it.
 */
import { ISignal, Signal } from '@lumino/signaling';
import { GlassloomAPI } from '../request';
import { IExport, IExports, IStateStream } from '../tokens';
import { Model } from './model';

export class Exports extends Model implements IExports {
  constructor(
    private readonly _api: GlassloomAPI,
    private readonly _stream: IStateStream
  ) {
    super();
    _stream.changed.connect(this._onStream, this);
  }

  get all(): readonly IExport[] {
    return this._stream.state.exports;
  }

  get ended(): ISignal<this, IExport> {
    return this._ended;
  }

  find(id: string): IExport | null {
    return this.all.find(each => each.id === id) ?? null;
  }

  async exportRecording(path: string, to: IExport['to']): Promise<void> {
    this._expect(await this._api.exportRecording(path, to));
  }

  async exportCluster(cluster: string, to: IExport['to']): Promise<void> {
    this._expect(await this._api.exportCluster(cluster, to));
  }

  dismiss(id: string): Promise<void> {
    this._going.delete(id);
    return this._api.dismissExport(id);
  }

  /** The stream may have told of its end already. */
  private _expect({ id }: { id: string }): void {
    this._going.add(id);
    this._onStream();
  }

  private _onStream(): void {
    for (const each of this.all) {
      if (each.state === 'recording' || each.state === 'exporting') {
        this._going.add(each.id);
      } else if (this._going.delete(each.id)) {
        this._ended.emit(each);
      }
    }
    this.emit();
  }

  private readonly _ended = new Signal<this, IExport>(this);
  /** Whose end is news. */
  private readonly _going = new Set<string>();
}

/** Tell whether an export goes on. */
export function isGoing({ state }: IExport): boolean {
  return state === 'recording' || state === 'exporting';
}
