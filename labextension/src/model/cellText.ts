/**
 * What the strip below a cell says, as text. Pure.
 */
import { TranslationBundle } from '@jupyterlab/translation';
import { ICellCluster, ICellState, ICounts } from './cellRuns';
import {
  formatBytes,
  formatCount,
  formatDuration,
  formatNumber,
  formatShare
} from './format';

/** Format a time that something takes, in seconds at least: `formatSeconds(0.25)` is `"0.3 s"`. */
export function formatSeconds(seconds: number): string {
  return seconds < 1
    ? `${formatNumber(Math.max(0, seconds), 1)} s`
    : formatDuration(seconds);
}

/** Nobody knows tenths of what is left. */
function formatLeft(seconds: number): string {
  return seconds < 9.5 ? `${Math.round(seconds)} s` : formatSeconds(seconds);
}

/** `"1,200 of 5,000 tasks"`, or `"5,000 tasks"` when all are done. */
export function describeTasks(
  trans: TranslationBundle,
  tasks: ICounts
): string {
  const { done, total } = tasks;
  return done >= total
    ? trans._n('%2 task', '%2 tasks', total, formatCount(total))
    : trans.__('%1 of %2 tasks', formatCount(done), formatCount(total));
}

/** `"120 tasks/s, about 12 s left"`; empty as long as nothing is known. */
export function describeRate(
  trans: TranslationBundle,
  counts: ICounts
): string {
  const { rate, eta_s } = counts;
  if (rate === null || rate === 0) {
    return '';
  }
  const text =
    rate >= 0.95
      ? trans.__('%1 tasks/s', formatCount(Math.round(rate)))
      : trans.__('%1 tasks/min', formatCount(Math.round(60 * rate)));
  return eta_s === null
    ? text
    : trans.__('%1, about %2 left', text, formatLeft(eta_s));
}

export function describeWorkers(
  trans: TranslationBundle,
  clusters: readonly ICellCluster[]
): string {
  const workers = clusters.filter(({ kind }) => kind !== 'threads');
  if (workers.length === 0) {
    const threads = sum(clusters, ({ threads }) => threads);
    return trans._n('%2 thread', '%2 threads', threads, formatCount(threads));
  }
  const busy = sum(workers, ({ busy }) => busy);
  return trans.__(
    '%1 of %2 workers busy',
    formatCount(busy),
    formatCount(sum(workers, each => each.workers))
  );
}

export function describeMemory(clusters: readonly ICellCluster[]): string {
  const used = sum(clusters, each => each.memory_bytes);
  const limits = clusters.map(each => each.memory_limit_bytes);
  return limits.length > 0 && limits.every(limit => limit !== null)
    ? formatShare(
        used,
        limits.reduce<number>((total, limit) => total + (limit ?? 0), 0)
      )
    : formatBytes(used);
}

/** How long tasks took on GPUs; empty if they had none. */
export function describeDevices(
  trans: TranslationBundle,
  { device_s }: ICounts
): string {
  return device_s ? trans.__('%1 on the GPU', formatDuration(device_s)) : '';
}

export function spilledBytes(clusters: readonly ICellCluster[]): number {
  return sum(clusters, each => each.spilled_bytes);
}

/** What came of it, in a word. */
export function describeOutcome(
  trans: TranslationBundle,
  state: ICellState,
  isCancelling: boolean
): string {
  if (state.outcome === 'running') {
    return isCancelling ? trans.__('Cancelling…') : trans.__('Running');
  }
  return {
    finished: trans.__('Done'),
    failed: trans.__('Failed'),
    cancelled: trans.__('Cancelled'),
    lost: trans.__('Ended with its cluster')
  }[state.outcome];
}

/** How long it has taken so far, or took. */
export function secondsOf(state: ICellState, nowS: number): number {
  return Math.max(0, (state.ended_at ?? nowS) - state.started_at);
}

/** The parts of the line that stays when a cell has ended. */
export function summaryParts(
  trans: TranslationBundle,
  state: ICellState
): string[] {
  const parts = [
    describeTasks(trans, state.tasks),
    formatSeconds(secondsOf(state, state.started_at)),
    ...[describeDevices(trans, state.tasks)].filter(part => part !== '')
  ];
  if (state.peak_bytes > 0) {
    parts.push(trans.__('%1 memory at most', formatBytes(state.peak_bytes)));
  }
  if (state.peak_spilled_bytes > 0) {
    parts.push(trans.__('%1 spilled', formatBytes(state.peak_spilled_bytes)));
  }
  if (state.tasks.failed > 0) {
    parts.push(
      trans._n(
        '%2 task failed',
        '%2 tasks failed',
        state.tasks.failed,
        formatCount(state.tasks.failed)
      )
    );
  }
  return parts;
}

/**
 * An ended cell as one line for the notebook's file: what it says is true whenever it is read.
 *
 * @param clockMs - The kernel's time less this page's.
 */
export function staticSummary(
  trans: TranslationBundle,
  state: ICellState,
  clockMs: number
): string {
  const outcome = describeOutcome(trans, state, false);
  const endedS = state.ended_at ?? state.started_at;
  const when = new Date(1000 * endedS - clockMs);
  return trans.__(
    'Glassloom: %1 · %2 · %3',
    outcome,
    summaryParts(trans, state).join(' · '),
    when.toISOString().replace('T', ' ').slice(0, 16) + ' UTC'
  );
}

function sum<T>(values: readonly T[], of: (value: T) => number): number {
  return values.reduce((total, value) => total + of(value), 0);
}
