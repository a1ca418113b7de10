/**
 * What a person should hear of though they look elsewhere: found by comparing two states. Pure.
 */
import { ICluster, ILostCluster, IRun } from '../tokens';
import { memoryShare } from './kinds';

export type AlertKind =
  'workerDied' | 'memoryNearLimit' | 'spilling' | 'runEnded';

export interface IAlert {
  kind: AlertKind;
  cluster: ICluster;
  /** Of a run that has ended. */
  run?: IRun;
  /** How many workers have died. */
  count?: number;
}

/** Finds which clusters of those that this page has seen were lost: what went before is no news, and is told again with each reload. */
export class LossFinder {
  /** Return what was lost since the last call. */
  find(
    clusters: readonly ICluster[],
    lost: readonly ILostCluster[]
  ): ILostCluster[] {
    clusters.forEach(({ id }) => this._seen.add(id));
    return lost.filter(({ id }) => this._seen.delete(id));
  }

  private readonly _seen = new Set<string>();
}

/** At this share of the limit a person hears of it; again only after it was below the lower one. */
const NEAR = 0.9;
const FAR = 0.75;
/** Who starts a run this short waits for it. */
const LONG_RUN_S = 10;

export class AlertFinder {
  /** Return what has happened since the last call; nothing at the first. */
  find(clusters: readonly ICluster[]): IAlert[] {
    const alerts = clusters.flatMap(cluster => {
      const before = this._before.get(cluster.id);
      return before === undefined ? [] : this._compare(before, cluster);
    });
    this._before = new Map(clusters.map(cluster => [cluster.id, cluster]));
    for (const id of [...this._near, ...this._spilling]) {
      if (!this._before.has(id)) {
        this._near.delete(id);
        this._spilling.delete(id);
      }
    }
    return alerts;
  }

  private _compare(before: ICluster, cluster: ICluster): IAlert[] {
    const alerts: IAlert[] = [];
    const count = (cluster.workers_lost ?? 0) - (before.workers_lost ?? 0);
    if (count > 0) {
      alerts.push({ kind: 'workerDied', cluster, count });
    }
    const share = memoryShare(cluster) ?? 0;
    if (share >= NEAR && !this._near.has(cluster.id)) {
      this._near.add(cluster.id);
      alerts.push({ kind: 'memoryNearLimit', cluster });
    } else if (share < FAR) {
      this._near.delete(cluster.id);
    }
    if (cluster.spilled_bytes > before.spilled_bytes) {
      if (!this._spilling.has(cluster.id)) {
        this._spilling.add(cluster.id);
        alerts.push({ kind: 'spilling', cluster });
      }
    } else if (cluster.spilled_bytes === 0) {
      this._spilling.delete(cluster.id);
    }
    return [...alerts, ...this._endedRuns(before, cluster)];
  }

  private _endedRuns(before: ICluster, cluster: ICluster): IAlert[] {
    const ran = new Set(
      before.runs
        .filter(({ outcome }) => outcome === 'running')
        .map(({ id }) => id)
    );
    return cluster.runs
      .filter(
        run =>
          ran.has(run.id) &&
          (run.outcome === 'finished' || run.outcome === 'failed') &&
          (run.ended_at ?? 0) - run.started_at >= LONG_RUN_S
      )
      .map(run => ({ kind: 'runEnded', cluster, run }));
  }

  private _before = new Map<string, ICluster>();
  private readonly _near = new Set<string>();
  private readonly _spilling = new Set<string>();
}
