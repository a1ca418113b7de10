/**
 * Recordings that are open for replay, and files that can be. The files are looked for while somebody shows them.
 */
import { Poll } from '@lumino/polling';
import { GlassloomAPI } from '../request';
import {
  IRecording,
  IRecordingFile,
  IRecordings,
  IStateStream
} from '../tokens';
import { Model } from './model';

const INTERVAL_MS = 30_000;
const LAST_INTERVAL_MS = 300_000;

export class Recordings extends Model implements IRecordings {
  constructor(
    private readonly _api: GlassloomAPI,
    private readonly _stream: IStateStream
  ) {
    super();
    _stream.changed.connect(this._onStream, this);
    this._poll = new Poll({
      name: 'glassloom:recordings',
      auto: false,
      factory: () => this._load(),
      frequency: {
        interval: INTERVAL_MS,
        backoff: true,
        max: LAST_INTERVAL_MS
      },
      standby: () => !this._isShown()
    });
  }

  get open(): readonly IRecording[] {
    return this._stream.state.recordings.filter(
      ({ id }) => !this._closed.has(id)
    );
  }

  get files(): readonly IRecordingFile[] {
    return this._files;
  }

  get directory(): string {
    return this._directory;
  }

  dispose(): void {
    this._poll.dispose();
    super.dispose();
  }

  find(id: string): IRecording | null {
    return this.open.find(recording => recording.id === id) ?? null;
  }

  idOf(path: string): string | null {
    const id = this._idOfPath.get(path);
    if (id === undefined) {
      return this.open.find(each => each.path === path)?.id ?? null;
    }
    return this._fresh.has(id) || this.find(id) !== null ? id : null;
  }

  replay(path: string): Promise<string> {
    const known = this.idOf(path);
    if (known !== null) {
      return Promise.resolve(known);
    }
    const underWay = this._opening.get(path);
    if (underWay !== undefined) {
      return underWay;
    }
    const opened = this._api
      .openRecording(path)
      .then(({ id }) => {
        this._idOfPath.set(path, id);
        this._fresh.add(id);
        return id;
      })
      .finally(() => this._opening.delete(path));
    this._opening.set(path, opened);
    return opened;
  }

  async close(id: string): Promise<void> {
    await this._api.closeRecording(id);
    this._closed.add(id); // the stream tells a moment later
    this.emit();
  }

  refresh(): Promise<void> {
    return this._poll
      .refresh()
      .then(() => this._poll.tick)
      .then(
        () => undefined,
        () => undefined // the poll tries again
      );
  }

  watch(isShown: () => boolean): void {
    this._watchers.push(isShown);
    void this.refresh();
  }

  /** Whether somebody can see the files. */
  private _isShown(): boolean {
    const canAsk = !document.hidden && !this._stream.isMissing;
    return canAsk && this._watchers.some(isShown => isShown());
  }

  private async _load(): Promise<void> {
    const { recordings, directory } = await this._api.recordings();
    this._files = recordings;
    this._directory = directory;
    this.emit();
  }

  private _onStream(): void {
    const ids = new Set(this._stream.state.recordings.map(({ id }) => id));
    ids.forEach(id => this._fresh.delete(id));
    for (const id of this._closed) {
      if (!ids.has(id)) {
        this._closed.delete(id);
      }
    }
    this.emit();
  }

  private readonly _poll: Poll;
  private readonly _opening = new Map<string, Promise<string>>();
  private readonly _idOfPath = new Map<string, string>();
  private readonly _closed = new Set<string>();
  /** Opened a moment ago: the stream doesn't tell of them yet. */
  private readonly _fresh = new Set<string>();
  private _files: readonly IRecordingFile[] = [];
  private _directory = '';
  private readonly _watchers: (() => boolean)[] = [];
}
