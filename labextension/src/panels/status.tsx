/**
 * The active cluster in one line, for the status bar.
 */
import { TranslationBundle } from '@jupyterlab/translation';
import * as React from 'react';
import { glassloomIcon } from '../icons';
import { formatBytes, formatCount, formatShare } from '../model/format';
import { describeState } from '../model/kinds';
import { IClock, ICluster, IClusters } from '../tokens';
import { SectionWidget, useNow, useTrans } from './section';

export class ClusterStatus extends SectionWidget {
  constructor(
    trans: TranslationBundle,
    clock: IClock,
    private readonly _clusters: IClusters,
    private readonly _onClick: () => void
  ) {
    super(trans, clock, [_clusters]);
    this.addClass('gl-Status');
  }

  protected draw(): JSX.Element {
    const { active, all } = this._clusters;
    if (active === null) {
      return <></>;
    }
    const others = all.length - 1;
    return (
      <button
        className="gl-Status-button"
        title={[
          this.trans.__('Show the Glassloom panel'),
          active.name,
          others > 0
            ? this.trans._n(
                'and %2 other cluster',
                'and %2 other clusters',
                others,
                formatCount(others)
              )
            : ''
        ]
          .filter(Boolean)
          .join('\n')}
        onClick={this._onClick}
      >
        <glassloomIcon.react tag="span" height="16px" width="16px" />
        <span className="gl-Status-name">{active.name}</span>
        <Line cluster={active} />
      </button>
    );
  }
}

function Line({ cluster }: { cluster: ICluster }): JSX.Element {
  return <span>{lineOf(useTrans(), cluster, useNow())}</span>;
}

/** Return what matters most of a cluster now. */
export function lineOf(
  trans: TranslationBundle,
  cluster: ICluster,
  nowMs: number
): string {
  const { memory_bytes, memory_limit_bytes, tasks, problem } = cluster;
  if (problem) {
    return trans.__('cannot be read');
  }
  const state = describeState(trans, cluster, nowMs);
  if (state) {
    return state;
  }
  const memory = memory_limit_bytes
    ? formatShare(memory_bytes, memory_limit_bytes)
    : formatBytes(memory_bytes);
  const left = tasks.running + tasks.ready + tasks.waiting;
  return left > 0
    ? `${memory} · ${trans._n('%2 task left', '%2 tasks left', left, formatCount(left))}`
    : memory;
}
