/**
 * What differs between clusters of processes and the thread pools of single processes. Pure.
 */
import { ICluster } from '../tokens';
import { formatNumber } from './format';

/** Tell whether a cluster can be ended. A thread pool ends with its process only. */
export function canShutDown(cluster: ICluster): boolean {
  return cluster.kind !== 'threads';
}

/** Tell whether an id is a recording's. */
export function isRecording(id: string): boolean {
  return id.startsWith('recording-');
}

/** Return for people how large a cluster is. */
export function describeSize(cluster: ICluster): string {
  const threads = formatNumber(cluster.threads, 'thread');
  if (cluster.kind === 'threads') {
    return `${threads} in one process`;
  }
  return `${formatNumber(cluster.workers, 'worker')}, ${threads}`;
}
