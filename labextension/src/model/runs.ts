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

  private _onStream(): void {
    this._all = null;
    this.emit();
  }

  private _all: readonly IClusterRun[] | null = null;
}
