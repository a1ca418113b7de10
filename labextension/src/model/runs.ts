/**
 * The runs of all clusters, the newest first.
 */
import { ICluster, IClusterRun, IRuns, IStateStream } from '../tokens';
import { Model } from './model';

/** Return the runs of clusters, the newest first. */
export function runsOf(clusters: readonly ICluster[]): IClusterRun[] {
  return clusters
    .flatMap(cluster => cluster.runs.map(run => ({ ...run, cluster })))
    .sort((one, other) => other.started_at - one.started_at);
}

/** Return runs as a table that spreadsheets read; times in ISO 8601, durations in seconds. */
export function csvOf(runs: readonly IClusterRun[]): string {
  const head =
    'cluster,run,kind,label,notebook,started,seconds,outcome,tasks_done,tasks_total';
  const rows = runs.map(run =>
    [
      run.cluster.name,
      run.id,
      run.kind,
      run.label,
      run.notebook ?? '',
      new Date(1000 * run.started_at).toISOString(),
      run.ended_at === null ? '' : (run.ended_at - run.started_at).toFixed(3),
      run.outcome,
      run.tasks_done,
      run.tasks_total
    ]
      .map(quoted)
      .join(',')
  );
  return [head, ...rows, ''].join('\r\n');
}

/** Quote a value; what a spreadsheet would take for a formula stays text. */
function quoted(value: string | number): string {
  const text = /^[=+\-@\t\r]/.test(String(value)) ? `'${value}` : String(value);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

export class Runs extends Model implements IRuns {
  constructor(private readonly _stream: IStateStream) {
    super();
    _stream.changed.connect(this._onStream, this);
  }

  get all(): readonly IClusterRun[] {
    this._all ??= runsOf(this._stream.state.clusters);
    return this._all;
  }

  ofNotebook(path: string): IClusterRun[] {
    return this.all.filter(
      run => (run.notebook ?? run.cluster.notebook) === path
    );
  }

  hasForgotten(path: string | null): boolean {
    const known = new Set(this._stream.state.clusters.map(({ id }) => id));
    return [...this._notebooksOf].some(
      ([id, paths]) => !known.has(id) && (path === null || paths.has(path))
    );
  }

  private _onStream(): void {
    this._all = null;
    for (const { id, notebook, runs } of this._stream.state.clusters) {
      const paths = this._notebooksOf.get(id) ?? new Set();
      [notebook, ...runs.map(run => run.notebook)].forEach(path => {
        if (path !== null) {
          paths.add(path);
        }
      });
      this._notebooksOf.set(id, paths);
    }
    this.emit();
  }

  /** The notebooks of all clusters that were ever told of, by the cluster's id. */
  private readonly _notebooksOf = new Map<string, Set<string>>();
  private _all: readonly IClusterRun[] | null = null;
}
