/**
 * The active cluster in one line, for the status bar.
 */
import { TranslationBundle } from '@jupyterlab/translation';
import * as React from 'react';
import { glassloomIcon } from '../icons';
import { formatBytes, formatCount, formatShare } from '../model/format';
import { describeState } from '../model/kinds';
import { ICluster, IClusters } from '../tokens';
import { SectionWidget } from './section';

export class ClusterStatus extends SectionWidget {
  constructor(
    trans: TranslationBundle,
    private readonly _clusters: IClusters,
    private readonly _onClick: () => void
  ) {
    super(trans, [_clusters]);
    this.addClass('gl-Status');
  }

  protected draw(): JSX.Element {
    const { active, all } = this._clusters;
    if (active === null) {
      return <></>;
    }
    const words = lineOf(this.trans, active);
    const others = all.length - 1;
    return (
      <button
        className="gl-Status-button"
        title={[
          this.trans.__('Show the Glassloom panel'),
          active.name,
          others > 0
            ? this.trans._n(
                'and %1 other cluster',
                'and %1 other clusters',
                others
              )
            : ''
        ]
          .filter(Boolean)
          .join('\n')}
        onClick={this._onClick}
      >
        <glassloomIcon.react tag="span" height="16px" width="16px" />
        <span className="gl-Status-name">{active.name}</span>
        <span>{words}</span>
      </button>
    );
  }
}

/** Return what matters most of a cluster now. */
export function lineOf(trans: TranslationBundle, cluster: ICluster): string {
  const { memory_bytes, memory_limit_bytes, tasks, problem } = cluster;
  if (problem) {
    return trans.__('cannot be read');
  }
  const state = describeState(trans, cluster, Date.now());
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
