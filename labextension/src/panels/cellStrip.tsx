/**
 * The strip below a cell: how far it is while it runs, and one line when it has ended.
 */
import { ReactWidget } from '@jupyterlab/apputils';
import { TranslationBundle } from '@jupyterlab/translation';
import {
  caretDownIcon,
  caretRightIcon,
  saveIcon,
  stopIcon
} from '@jupyterlab/ui-components';
import * as React from 'react';
import { glassloomIcon } from '../icons';
import { CellRuns, ICellEntry, ICellState, ILayer } from '../model/cellRuns';
import {
  describeDevices,
  describeMemory,
  describeOutcome,
  describeRate,
  describeTasks,
  describeWorkers,
  formatSeconds,
  secondsOf,
  spilledBytes,
  summaryParts
} from '../model/cellText';
import { formatBytes, formatCount, formatDuration } from '../model/format';

/** How often the time that a cell has run is counted on. */
const TICK_MS = 500;

export interface IStripOptions {
  cell: string;
  runs: CellRuns;
  trans: TranslationBundle;
  settings: IStripSettings;
  /** Open the page of a run; null: there are no dashboards here. */
  openRun: ((cluster: string, run: number) => void) | null;
  /** Write a static summary into the notebook. */
  keepSummary: () => void;
}

export interface IStripSettings {
  /** Whether strips are unfolded unless a person says otherwise. */
  open: 'while running' | 'always' | 'never';
  /** Below how many seconds a cell that ended well gets no strip. */
  minimumSeconds: number;
}

/** What a person has chosen for one strip: undefined, as the settings say. */
type Choice = boolean | undefined;

export class CellStrip extends ReactWidget {
  constructor(private _options: IStripOptions) {
    super();
    this.addClass('gl-Strip');
    this._options.runs.changed.connect(this._onChanged, this);
    this._onChanged(null, [this._options.cell]);
  }

  /** Follow changed settings. */
  setSettings(settings: IStripSettings): void {
    this._options = { ...this._options, settings };
    this._show();
  }

  dispose(): void {
    if (!this.isDisposed) {
      window.clearInterval(this._timer);
      window.clearTimeout(this._delay);
      this._options.runs.changed.disconnect(this._onChanged, this);
      super.dispose();
    }
  }

  protected render(): JSX.Element | null {
    const { runs, cell, trans, openRun, keepSummary } = this._options;
    const entry = runs.find(cell);
    if (entry === null) {
      return null;
    }
    return (
      <Strip
        entry={entry}
        isOpen={this._isOpen(entry.state)}
        nowS={(Date.now() + entry.clockMs) / 1000}
        trans={trans}
        openRun={openRun}
        onToggle={() => {
          this._choice = !this._isOpen(entry.state);
          this.update();
        }}
        onCancel={() => void runs.cancel(cell)}
        onKeep={keepSummary}
      />
    );
  }

  private _isOpen(state: ICellState): boolean {
    const { open } = this._options.settings;
    const byDefault =
      open === 'always' ||
      (open === 'while running' && state.outcome === 'running');
    return this._choice ?? byDefault;
  }

  private _onChanged(_: unknown, cells: readonly string[]): void {
    if (cells.includes(this._options.cell)) {
      this._show();
    }
  }

  private _show(): void {
    const entry = this._options.runs.find(this._options.cell);
    window.clearTimeout(this._delay);
    window.clearInterval(this._timer);
    if (entry === null) {
      this.hide();
      return;
    }
    const { state } = entry;
    if (state.execution !== this._execution) {
      this._execution = state.execution;
      this._choice = undefined;
    }
    const nowS = (Date.now() + entry.clockMs) / 1000;
    const leftS =
      this._options.settings.minimumSeconds - secondsOf(state, nowS);
    const isRunning = state.outcome === 'running';
    const isQuick = state.outcome === 'finished' && leftS > 0;
    const isEarly = isRunning && leftS > 0;
    this.setHidden(isQuick || isEarly);
    this.node.dataset.outcome = state.outcome;
    if (isEarly) {
      this._delay = window.setTimeout(() => this._show(), 1000 * leftS + 10);
    }
    if (isRunning) {
      this._timer = window.setInterval(() => {
        if (!document.hidden) {
          this.update();
        }
      }, TICK_MS);
    }
    this.update();
  }

  private _choice: Choice;
  private _execution = -1;
  private _timer = 0;
  private _delay = 0;
}

interface IStripProps {
  entry: ICellEntry;
  isOpen: boolean;
  nowS: number;
  trans: TranslationBundle;
  openRun: ((cluster: string, run: number) => void) | null;
  onToggle: () => void;
  onCancel: () => void;
  onKeep: () => void;
}

function Strip(props: IStripProps): JSX.Element {
  const { entry, trans } = props;
  const { state, isCancelling, isOtherVersion } = entry;
  if (isOtherVersion) {
    return (
      <div className="gl-Strip-line" role="status">
        {trans.__(
          'The kernel and this page have different versions of Glassloom. Update the package glassloom, restart Jupyter and reload this page.'
        )}
      </div>
    );
  }
  const isRunning = state.outcome === 'running';
  const run = state.runs[state.runs.length - 1];
  const canOpen =
    props.openRun !== null &&
    run !== undefined &&
    state.clusters.some(each => each.id === run.cluster && !each.ended);
  const Caret = props.isOpen ? caretDownIcon : caretRightIcon;
  return (
    <>
      <div className="gl-Strip-line">
        <button
          className="gl-Strip-toggle"
          aria-expanded={props.isOpen}
          title={props.isOpen ? trans.__('Show less') : trans.__('Show more')}
          onClick={props.onToggle}
        >
          <Caret.react tag="span" className="gl-Strip-icon" />
          <span className="gl-Strip-dot" aria-hidden="true" />
          <span className="gl-Strip-outcome" role="status">
            {describeOutcome(trans, state, isCancelling)}
          </span>
        </button>
        {isRunning && (
          <Bar
            label={trans.__('Tasks done')}
            done={state.tasks.done}
            failed={state.tasks.failed}
            total={state.tasks.total}
          />
        )}
        <span className="gl-Strip-facts">
          {(isRunning ? runningParts(props) : summaryParts(trans, state)).map(
            part => (
              <span key={part}>{part}</span>
            )
          )}
        </span>
        <span className="gl-Strip-buttons">
          {isRunning && (
            <button
              data-action="cancel"
              disabled={isCancelling}
              title={trans.__('Give up what this cell has started')}
              onClick={props.onCancel}
            >
              <stopIcon.react tag="span" className="gl-Strip-icon" />
              {trans.__('Cancel')}
            </button>
          )}
          {!isRunning && (
            <button
              data-action="keep"
              title={trans.__(
                'Write this line into the notebook, below the cell'
              )}
              aria-label={trans.__('Keep in the notebook')}
              onClick={props.onKeep}
            >
              <saveIcon.react tag="span" className="gl-Strip-icon" />
            </button>
          )}
          {canOpen && (
            <button
              data-action="open"
              title={trans.__('Open this run in the dashboard')}
              aria-label={trans.__('Open this run in the dashboard')}
              onClick={() => props.openRun?.(run.cluster, run.id)}
            >
              <glassloomIcon.react tag="span" className="gl-Strip-icon" />
            </button>
          )}
        </span>
      </div>
      {props.isOpen && <Details state={state} trans={trans} />}
    </>
  );
}

function runningParts(props: IStripProps): string[] {
  const { trans, nowS } = props;
  const { state } = props.entry;
  const spilled = spilledBytes(state.clusters);
  const silent = state.clusters.find(each => each.silent);
  const parts = [
    describeTasks(trans, state.tasks),
    formatSeconds(secondsOf(state, nowS)),
    describeRate(trans, state.tasks),
    describeWorkers(trans, state.clusters),
    describeMemory(state.clusters),
    describeDevices(trans, state.tasks),
    spilled > 0 ? trans.__('%1 spilled', formatBytes(spilled)) : '',
    state.tasks.failed > 0
      ? trans.__('%1 failed', formatCount(state.tasks.failed))
      : '',
    silent ? trans.__('%1 does not answer', silent.name) : ''
  ];
  return parts.filter(part => part !== '');
}

function Details(props: {
  state: ICellState;
  trans: TranslationBundle;
}): JSX.Element {
  const { state, trans } = props;
  const more = state.n_layers - state.layers.length;
  const hidden = state.output.count - state.output.lines.length;
  const hasDevices = (state.tasks.device_s ?? 0) > 0;
  return (
    <div className="gl-Strip-details">
      <table className="gl-Strip-layers">
        <thead>
          <tr>
            <th scope="col">{trans.__('Operation')}</th>
            <th scope="col" colSpan={2}>
              {trans.__('Tasks')}
            </th>
            <th scope="col">{trans.__('Running')}</th>
            {hasDevices && (
              <th
                scope="col"
                title={trans.__(
                  'From when the device came to a task until it was done with it, added up. Tasks of several threads overlap on a device, and include each other.'
                )}
              >
                {trans.__('GPU time')}
              </th>
            )}
            <th scope="col">{trans.__('Rate')}</th>
          </tr>
        </thead>
        <tbody>
          {state.layers.map(layer => (
            <LayerRow
              key={layer.name}
              layer={layer}
              hasDevices={hasDevices}
              trans={trans}
            />
          ))}
        </tbody>
      </table>
      {more > 0 && (
        <p>
          {trans._n(
            'and %2 more operation',
            'and %2 more operations',
            more,
            formatCount(more)
          )}
        </p>
      )}
      {state.errors.map(error => (
        <p
          className="gl-Strip-error"
          key={`${error.layer} ${error.exception} ${error.message}`}
        >
          <b>{error.exception}</b>
          {error.message !== '' && `: ${error.message}`}
          <small>
            {trans.__(
              '%1 in %2, built at %3',
              formatCount(error.count),
              error.layer,
              error.origin
            )}
          </small>
        </p>
      ))}
      {state.output.count > 0 && (
        <details className="gl-Strip-printed">
          <summary>
            {trans._n(
              '%2 line printed',
              '%2 lines printed',
              state.output.count,
              formatCount(state.output.count)
            )}
          </summary>
          <pre
            className="gl-Strip-output"
            tabIndex={0}
            aria-label={trans.__('What tasks have printed')}
          >
            {hidden > 0 &&
              trans._n(
                '… %2 earlier line',
                '… %2 earlier lines',
                hidden,
                formatCount(hidden)
              ) + '\n'}
            {state.output.lines
              .map(({ worker, text }) => (worker ? `(${worker}) ` : '') + text)
              .join('\n')}
          </pre>
        </details>
      )}
    </div>
  );
}

function LayerRow(props: {
  layer: ILayer;
  hasDevices: boolean;
  trans: TranslationBundle;
}): JSX.Element {
  const { layer, trans } = props;
  return (
    <tr data-layer={layer.name}>
      <th scope="row" title={layer.name}>
        {layer.name}
      </th>
      <td>
        <Bar
          label={layer.name}
          done={layer.done}
          failed={layer.failed}
          total={layer.total}
        />
      </td>
      <td className="gl-Strip-number">
        {trans.__(
          '%1 of %2',
          formatCount(layer.done),
          formatCount(layer.total)
        )}
        {layer.failed > 0 && (
          <span className="gl-mod-failed">
            {trans.__(', %1 failed', formatCount(layer.failed))}
          </span>
        )}
      </td>
      <td className="gl-Strip-number">
        {layer.running > 0 ? formatCount(layer.running) : ''}
      </td>
      {props.hasDevices && (
        <td className="gl-Strip-number">
          {layer.device_s ? formatDuration(layer.device_s) : ''}
        </td>
      )}
      <td className="gl-Strip-rate">
        {layer.done < layer.total ? describeRate(trans, layer) : ''}
      </td>
    </tr>
  );
}

function Bar(props: {
  label: string;
  done: number;
  failed: number;
  total: number;
}): JSX.Element {
  const share = (count: number): string =>
    `${props.total > 0 ? Math.min(100, (100 * count) / props.total) : 0}%`;
  return (
    <span
      className="gl-Strip-bar"
      role="progressbar"
      aria-label={props.label}
      aria-valuemin={0}
      aria-valuemax={props.total}
      aria-valuenow={props.done}
    >
      <span style={{ width: share(props.done - props.failed) }} />
      <span className="gl-mod-failed" style={{ width: share(props.failed) }} />
    </span>
  );
}
