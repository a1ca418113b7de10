/**
 * The dashboard pages that every cluster has: which there are, how they are grouped, and which a search finds.
 */
import { ExtensionMissing, GlassloomAPI } from '../request';
import { IPage, IPages, IStateStream } from '../tokens';
import { Model } from './model';

export type GroupId =
  'favourites' | 'overview' | 'tasks' | 'workers' | 'memory' | 'gpu' | 'more';

export interface IGroup {
  id: GroupId;
  pages: IPage[];
}

/** The groups that have a heading; the server says which each page is of, and those of other groups are among "more". */
const GROUPS: GroupId[] = ['overview', 'tasks', 'workers', 'memory', 'gpu'];

/** Return the pages whose title or description holds all words of a search, in groups; favourites come first, too. */
export function grouped(
  pages: readonly IPage[],
  favourites: readonly string[],
  search = ''
): IGroup[] {
  const words = search.toLowerCase().split(/\s+/).filter(Boolean);
  const found = pages.filter(({ id, title, description }) => {
    const text = `${id} ${title} ${description}`.toLowerCase();
    return words.every(word => text.includes(word));
  });
  const known = new Set<string>(GROUPS);
  const groups: IGroup[] = [
    { id: 'favourites', pages: inOrder(favourites, found) },
    ...GROUPS.map(id => ({
      id,
      pages: found.filter(({ group }) => group === id)
    })),
    { id: 'more', pages: found.filter(({ group }) => !known.has(group ?? '')) }
  ];
  return groups.filter(group => group.pages.length > 0);
}

function inOrder(ids: readonly string[], pages: readonly IPage[]): IPage[] {
  return ids.flatMap(id => pages.filter(page => page.id === id));
}

export class Pages extends Model implements IPages {
  constructor(
    private readonly _api: GlassloomAPI,
    private readonly _stream: IStateStream
  ) {
    super();
    _stream.changed.connect(this._onStream, this);
    void this._load();
  }

  get all(): readonly IPage[] {
    return this._all;
  }

  find(id: string): IPage | null {
    return this._all.find(page => page.id === id) ?? null;
  }

  /** A new connection may be to an updated server. */
  private _onStream(): void {
    const { connection } = this._stream;
    if (connection !== this._connection) {
      this._connection = connection;
      if (connection === 'connected') {
        void this._load();
      }
    }
  }

  private async _load(): Promise<void> {
    if (this._isLoading) {
      return;
    }
    this._isLoading = true;
    try {
      this._all = await this._api.pages();
      this.emit();
    } catch (error) {
      // Asked for again with the next connection.
      if (!(error instanceof ExtensionMissing)) {
        console.warn('Glassloom could not load its list of pages:', error);
      }
    } finally {
      this._isLoading = false;
    }
  }

  private _all: readonly IPage[] = [];
  private _connection = 'connecting';
  private _isLoading = false;
}
