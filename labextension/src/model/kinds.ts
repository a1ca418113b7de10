/**
 * What differs between clusters: what they can be asked for, how large they are and what state they are in. Pure.
 */
import { TranslationBundle } from '@jupyterlab/translation';
import { Ability, ICluster } from '../tokens';
import { formatCount, formatDuration } from './format';

/** From this share of its limit on, memory is short; the engine spills at about the same. */
export const MEMORY_SHORT = 0.7;

/** Tell whether a cluster can be asked for something. */
export function can(cluster: ICluster, ability: Ability): boolean {
  return cluster.can.includes(ability);
}

/** Tell whether other processes than its own can use a cluster: a pool of threads is its process's. */
export function isShared(cluster: ICluster): boolean {
  return cluster.kind !== 'threads';
}

/** Tell whether an id is a recording's. */
export function isRecording(id: string): boolean {
  return id.startsWith('recording-');
}

/** Return the share of the memory limit that is used, or null if there is no limit. */
export function memoryShare(cluster: ICluster): number | null {
  const { memory_bytes, memory_limit_bytes } = cluster;
  return memory_limit_bytes ? memory_bytes / memory_limit_bytes : null;
}

/** Return for people how large a cluster is. */
export function describeSize(
  trans: TranslationBundle,
  cluster: ICluster
): string {
  const { workers, threads, adaptive } = cluster;
  const inThreads = trans._n(
    '%2 thread',
    '%2 threads',
    threads,
    formatCount(threads)
  );
  if (cluster.kind === 'threads') {
    return trans.__('%1 in one process', inThreads);
  }
  const inWorkers = trans._n(
    '%2 worker',
    '%2 workers',
    workers,
    formatCount(workers)
  );
  return adaptive === null
    ? `${inWorkers}, ${inThreads}`
    : trans.__(
        '%1 (adaptive, %2 to %3), %4',
        inWorkers,
        formatCount(adaptive.minimum),
        formatCount(adaptive.maximum),
        inThreads
      );
}

/** Return for people what state a cluster is in; empty if it simply runs. */
export function describeState(
  trans: TranslationBundle,
  cluster: ICluster,
  nowMs: number
): string {
  const { heard_at } = cluster;
  switch (cluster.state) {
    case 'starting':
      return trans.__('Starting…');
    case 'paused':
      return trans.__('Paused: its workers are short of memory');
    case 'silent':
      return heard_at === null
        ? trans.__('Has not answered yet')
        : trans.__(
            'Silent for %1',
            formatDuration(Math.max(1, Math.round(nowMs / 1000 - heard_at)))
          );
    default:
      return '';
  }
}

/** Return for people when an idle cluster ends by itself; empty if it doesn't. */
export function describeIdle(
  trans: TranslationBundle,
  cluster: ICluster,
  nowMs: number
): string {
  const { idle_timeout_s, idle_since } = cluster;
  if (idle_timeout_s === null || idle_since === null) {
    return '';
  }
  const leftS = idle_timeout_s - (nowMs / 1000 - idle_since);
  return leftS <= 0
    ? trans.__('Idle: ends now')
    : leftS < 60
      ? trans.__('Idle: ends in %1 s', Math.ceil(leftS))
      : trans.__('Idle: ends in %1 min', Math.ceil(leftS / 60));
}
