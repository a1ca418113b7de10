/**
 * The section of runs: what was computed, of the notebook in front or of all, and recordings to replay.
 */
import { PathExt } from '@jupyterlab/coreutils';
import { TranslationBundle } from '@jupyterlab/translation';
import { closeIcon } from '@jupyterlab/ui-components';
import { Message } from '@lumino/messaging';
import * as React from 'react';
import { formatCount, formatDuration } from '../model/format';
import {
  IClusterRun,
  IExports,
  INotebooks,
  IRecordings,
  IRun,
  IRuns,
  IStateStream
} from '../tokens';
import { ExportRows, Files, IFilesOptions } from './files';
import {
  Age,
  Hint,
  IconButton,
  SectionWidget,
  useNow,
  useTrans
} from './section';

/** More runs than so many help nobody. */
const SHOWN = 50;

export interface IRunsOptions extends IFilesOptions {
  trans: TranslationBundle;
  stream: IStateStream;
  runs: IRuns;
  recordings: IRecordings;
  exported: IExports;
  notebooks: INotebooks | null;
  onOpen: (cluster: string, run: string) => void;
  onCompare: (one: IClusterRun, other: IClusterRun) => void;
}

export class RunsSection extends SectionWidget {
  constructor(private readonly _options: IRunsOptions) {
    super(_options.trans, _options.stream.clock, [
      _options.runs,
      _options.recordings,
      _options.exported,
      _options.notebooks
    ]);
    this.addClass('gl-RunList');
    _options.recordings.watch(() => this.isVisible);
  }

  /** The runs that a person sees. */
  get shown(): IClusterRun[] {
    const { runs } = this._options;
    return this._path === null ? [...runs.all] : runs.ofNotebook(this._path);
  }

  /** The notebook whose runs are shown; null: all are. */
  private get _path(): string | null {
    const path = this._options.notebooks?.current ?? null;
    return this._isOfNotebook ? path : null;
  }

  protected onAfterShow(message: Message): void {
    super.onAfterShow(message);
    void this._options.recordings.refresh();
  }

  protected draw(): JSX.Element {
    const { notebooks, recordings, exported, stream } = this._options;
    if (stream.isMissing) {
      return <></>; // the panel says so
    }
    const shown = this.shown.slice(0, SHOWN);
    return (
      <>
        {notebooks?.current && (
          <WhichRuns
            notebook={notebooks.current}
            isOfNotebook={this._isOfNotebook}
            onChange={isOfNotebook => {
              this._isOfNotebook = isOfNotebook;
              this.update();
            }}
          />
        )}
        {this.selection.length > 0 && (
          <Selection
            runs={this.selection}
            onCompare={(one, other) => this._options.onCompare(one, other)}
            onClear={() => {
              this._selected = [];
              this.update();
            }}
          />
        )}
        {shown.length === 0 ? (
          <Hint>
            {this._options.runs.hasForgotten(this._path)
              ? this.trans.__(
                  'No runs to show. Those of clusters that have ended are no longer known.'
                )
              : this.trans.__('Nothing was computed yet.')}
          </Hint>
        ) : (
          <ul
            role="list"
            className="gl-Runs"
            aria-label={this.trans.__('Runs')}
          >
            {shown.map(run => (
              <RunRow
                key={keyOf(run)}
                run={run}
                selection={this.selection}
                onOpen={this._options.onOpen}
                onSelect={() => this.toggle(run)}
              />
            ))}
          </ul>
        )}
        <ExportRows exports={exported.all} options={this._options} />
        <Files files={recordings.files} options={this._options} />
      </>
    );
  }

  /** The runs that are selected, the older one first; at most two. */
  get selection(): IClusterRun[] {
    return this._options.runs.all
      .filter(run => this._selected.includes(keyOf(run)))
      .reverse();
  }

  /** The run of a row, by what the row says of itself. */
  find(cluster: string, run: string): IClusterRun | null {
    const { all } = this._options.runs;
    return (
      all.find(each => each.cluster.id === cluster && each.id === run) ?? null
    );
  }

  /** Select a run to be compared, or do so no more. */
  toggle(run: IClusterRun): void {
    const key = keyOf(run);
    this._selected = this._selected.includes(key)
      ? this._selected.filter(each => each !== key)
      : [...this._selected.slice(-1), key];
    this.update();
  }

  private _isOfNotebook = true;
  private _selected: string[] = [];
}

function WhichRuns(props: {
  notebook: string;
  isOfNotebook: boolean;
  onChange: (isOfNotebook: boolean) => void;
}): JSX.Element {
  const trans = useTrans();
  const { notebook, isOfNotebook, onChange } = props;
  return (
    <div className="gl-Choice" role="group" aria-label={trans.__('Which runs')}>
      <button
        aria-pressed={isOfNotebook}
        title={notebook}
        onClick={() => onChange(true)}
      >
        {trans.__('This notebook')}
      </button>
      <button aria-pressed={!isOfNotebook} onClick={() => onChange(false)}>
        {trans.__('All')}
      </button>
    </div>
  );
}

/** What is selected, and what can be done with it. */
function Selection(props: {
  runs: IClusterRun[];
  onCompare: (one: IClusterRun, other: IClusterRun) => void;
  onClear: () => void;
}): JSX.Element {
  const trans = useTrans();
  const [one, other] = props.runs;
  return (
    <div
      className="gl-Selection"
      role="group"
      aria-label={trans.__('Selected runs')}
    >
      <span className="gl-Selection-words" role="status">
        {other === undefined
          ? trans.__('Select a second run to compare with %1.', nameOf(one))
          : trans.__('%1 and %2', nameIn(one, other), nameIn(other, one))}
      </span>
      {other !== undefined && (
        <button
          data-action="compare"
          className="gl-Button"
          onClick={() => props.onCompare(one, other)}
        >
          {trans.__('Compare')}
        </button>
      )}
      <IconButton
        icon={closeIcon}
        label={trans.__('Select no runs')}
        action="select-none"
        onClick={props.onClear}
      />
    </div>
  );
}

function RunRow(props: {
  run: IClusterRun;
  selection: IClusterRun[];
  onOpen: (cluster: string, run: string) => void;
  onSelect: () => void;
}): JSX.Element {
  const trans = useTrans();
  const { run, selection } = props;
  const isSelected = selection.some(each => keyOf(each) === keyOf(run));
  const selecting = trans.__('Select %1 to compare it', nameOf(run));
  const share = run.tasks_total > 0 ? run.tasks_done / run.tasks_total : 0;
  const from = run.notebook === null ? null : PathExt.basename(run.notebook);
  return (
    <li
      className="gl-Run"
      data-run={run.id}
      data-cluster={run.cluster.id}
      data-outcome={run.outcome}
    >
      <button
        className="gl-Run-open"
        title={trans.__(
          'Open this run in the dashboard of %1',
          run.cluster.name
        )}
        onClick={() => props.onOpen(run.cluster.id, run.id)}
      >
        <span className="gl-Run-label">{nameOf(run)}</span>
        <span className="gl-Run-outcome">{describeOutcome(trans, run)}</span>
        <span className="gl-Run-facts">
          <Took run={run} />
          {' · '}
          {trans._n(
            '%2 of %3 task',
            '%2 of %3 tasks',
            run.tasks_total,
            formatCount(run.tasks_done),
            formatCount(run.tasks_total)
          )}
        </span>
        <span className="gl-Run-facts">
          {run.ended_at !== null && (
            <>
              <Age sinceS={run.ended_at} />
              {' · '}
            </>
          )}
          {[run.cluster.name, from].filter(Boolean).join(' · ')}
        </span>
        {run.outcome === 'running' && (
          <span
            className="gl-Bar"
            role="progressbar"
            aria-label={trans.__('Tasks done')}
            aria-valuenow={Math.round(100 * share)}
          >
            <span style={{ width: `${100 * share}%` }} />
          </span>
        )}
      </button>
      <label className="gl-Run-select" title={selecting}>
        <input
          type="checkbox"
          data-action="select"
          aria-label={selecting}
          checked={isSelected}
          onChange={props.onSelect}
        />
      </label>
    </li>
  );
}

/** How long it has taken, counted on while it runs. */
function Took({ run }: { run: IRun }): JSX.Element {
  const nowMs = useNow();
  const endS = run.ended_at ?? nowMs / 1000;
  return <>{formatDuration(Math.max(0, endS - run.started_at))}</>;
}

/** Different for all runs of all clusters. */
function keyOf(run: IClusterRun): string {
  return `${run.cluster.id}-${run.id}`;
}

/** Return how a run is called. */
export function nameOf(run: IRun): string {
  return run.label || run.kind;
}

/** Return how a run is called beside another one, which may be of another cluster. */
function nameIn(run: IClusterRun, other: IClusterRun): string {
  const { id, name } = run.cluster;
  return id === other.cluster.id ? nameOf(run) : `${nameOf(run)} (${name})`;
}

function describeOutcome(trans: TranslationBundle, run: IRun): string {
  return {
    running: trans.__('running'),
    finished: trans.__('finished'),
    failed: trans.__('failed'),
    cancelled: trans.__('cancelled')
  }[run.outcome];
}
