/**
 * The section of runs: what was computed, of the notebook in front or of all, and recordings to replay.
 */
import { PathExt } from '@jupyterlab/coreutils';
import { TranslationBundle } from '@jupyterlab/translation';
import { historyIcon } from '@jupyterlab/ui-components';
import * as React from 'react';
import {
  formatAge,
  formatBytes,
  formatCount,
  formatDuration
} from '../model/format';
import {
  IClusterRun,
  INotebooks,
  IRecordingFile,
  IRecordings,
  IRun,
  IRuns
} from '../tokens';
import { Hint, IconButton, SectionWidget, useTrans } from './section';

/** More runs than so many help nobody. */
const SHOWN = 50;

export interface IRunsOptions {
  trans: TranslationBundle;
  runs: IRuns;
  recordings: IRecordings;
  notebooks: INotebooks | null;
  onOpen: (cluster: string, run: string) => void;
  onReplay: (path: string) => void;
}

export class RunsSection extends SectionWidget {
  constructor(private readonly _options: IRunsOptions) {
    super(_options.trans, [
      _options.runs,
      _options.recordings,
      _options.notebooks
    ]);
    this.addClass('gl-RunList');
  }

  /** The runs that a person sees. */
  get shown(): IClusterRun[] {
    const { runs, notebooks } = this._options;
    const path = notebooks?.current ?? null;
    return this._isOfNotebook && path !== null
      ? runs.ofNotebook(path)
      : [...runs.all];
  }

  protected draw(): JSX.Element {
    const { notebooks, recordings } = this._options;
    const nowMs = Date.now();
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
        {shown.length === 0 ? (
          <Hint>{this.trans.__('Nothing was computed yet.')}</Hint>
        ) : (
          <ul className="gl-Runs" aria-label={this.trans.__('Runs')}>
            {shown.map(run => (
              <RunRow
                key={`${run.cluster.id}-${run.id}`}
                run={run}
                nowMs={nowMs}
                onOpen={this._options.onOpen}
              />
            ))}
          </ul>
        )}
        <Files
          files={recordings.files}
          nowMs={nowMs}
          onReplay={this._options.onReplay}
        />
      </>
    );
  }

  private _isOfNotebook = true;
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

function RunRow(props: {
  run: IClusterRun;
  nowMs: number;
  onOpen: (cluster: string, run: string) => void;
}): JSX.Element {
  const trans = useTrans();
  const { run, nowMs } = props;
  const endS = run.ended_at ?? nowMs / 1000;
  const share = run.tasks_total > 0 ? run.tasks_done / run.tasks_total : 0;
  const from = run.notebook === null ? null : PathExt.basename(run.notebook);
  return (
    <li className="gl-Run" data-run={run.id} data-outcome={run.outcome}>
      <button
        className="gl-Run-open"
        title={trans.__(
          'Open the runs of %1, to look into or compare them',
          run.cluster.name
        )}
        onClick={() => props.onOpen(run.cluster.id, run.id)}
      >
        <span className="gl-Run-label">{run.label || run.kind}</span>
        <span className="gl-Run-outcome">{describeOutcome(trans, run)}</span>
        <span className="gl-Run-facts">
          {[
            formatDuration(Math.max(0, endS - run.started_at)),
            trans.__(
              '%1 of %2 tasks',
              formatCount(run.tasks_done),
              formatCount(run.tasks_total)
            ),
            run.ended_at !== null &&
              formatAge(trans, nowMs / 1000 - run.ended_at)
          ]
            .filter(Boolean)
            .join(' · ')}
        </span>
        <span className="gl-Run-facts">
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
    </li>
  );
}

function Files(props: {
  files: readonly IRecordingFile[];
  nowMs: number;
  onReplay: (path: string) => void;
}): JSX.Element | null {
  const trans = useTrans();
  if (props.files.length === 0) {
    return null;
  }
  return (
    <section className="gl-Group" data-group="recordings">
      <h3 className="gl-Group-title">
        <span>{trans.__('Recordings')}</span>
      </h3>
      <ul className="gl-Pages" aria-label={trans.__('Recordings')}>
        {props.files.map(file => (
          <li key={file.path} className="gl-PageRow">
            <div className="gl-File" title={file.path}>
              <span className="gl-Page-title">{file.name}</span>
              <span className="gl-Page-description">
                {file.problem ||
                  [
                    PathExt.basename(file.path),
                    formatBytes(file.bytes),
                    formatAge(trans, props.nowMs / 1000 - file.modified_at)
                  ].join(' · ')}
              </span>
            </div>
            <IconButton
              icon={historyIcon}
              label={trans.__('Replay %1', file.name)}
              action="replay"
              isDisabled={file.problem !== ''}
              onClick={() => props.onReplay(file.path)}
            />
          </li>
        ))}
      </ul>
    </section>
  );
}

function describeOutcome(trans: TranslationBundle, run: IRun): string {
  return {
    running: trans.__('running'),
    finished: trans.__('finished'),
    failed: trans.__('failed'),
    cancelled: trans.__('cancelled')
  }[run.outcome];
}
