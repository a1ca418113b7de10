/**
 * The numbers of a cluster that change all the time.
 */
import * as React from 'react';
import { formatBytes, formatCount, formatShare } from '../model/format';
import { MEMORY_SHORT, memoryShare } from '../model/kinds';
import { ICluster, ITaskCounts } from '../tokens';
import { useTrans } from './section';
import { Sparkline } from './sparkline';

export function Meters(props: { cluster: ICluster }): JSX.Element {
  const { cluster } = props;
  const trans = useTrans();
  const top = Math.max(100 * cluster.threads, ...cluster.cpu_history, 1);
  return (
    <>
      <div className="gl-Meter">
        <span className="gl-Meter-label">{trans.__('CPU')}</span>
        <Sparkline
          values={cluster.cpu_history}
          top={top}
          label={trans.__('CPU use of late')}
        />
        <span
          className="gl-Meter-value"
          title={trans.__('100 % is one core busy')}
        >
          {`${formatCount(Math.round(cluster.cpu_percent))} %`}
        </span>
      </div>
      {cluster.gpus.length > 0 && <Gpus cluster={cluster} />}
      <Memory cluster={cluster} />
      {cluster.spilled_bytes > 0 && (
        <div className="gl-Card-spilled">
          {trans.__('%1 spilled to disk', formatBytes(cluster.spilled_bytes))}
        </div>
      )}
    </>
  );
}

function Gpus(props: { cluster: ICluster }): JSX.Element {
  const trans = useTrans();
  const { gpus, gpu_history } = props.cluster;
  const known = gpus.flatMap(({ percent }) => percent ?? []);
  const mean = known.reduce((sum, value) => sum + value, 0) / known.length;
  return (
    <div className="gl-Meter" title={gpus.map(({ name }) => name).join('\n')}>
      <span className="gl-Meter-label">
        {gpus.length === 1
          ? trans.__('GPU')
          : trans.__('%1 GPUs', formatCount(gpus.length))}
      </span>
      <Sparkline
        values={gpu_history}
        top={100}
        label={trans.__('GPU use of late')}
      />
      <span className="gl-Meter-value">
        {known.length > 0 ? `${Math.round(mean)} %` : trans.__('not supported')}
      </span>
    </div>
  );
}

function Memory(props: { cluster: ICluster }): JSX.Element {
  const trans = useTrans();
  const { cluster } = props;
  const { memory_bytes, memory_limit_bytes } = cluster;
  const share = memoryShare(cluster);
  return (
    <div className="gl-Meter">
      <span className="gl-Meter-label">{trans.__('Memory')}</span>
      {share !== null && (
        <span className="gl-Bar">
          <span
            className={share >= MEMORY_SHORT ? 'gl-mod-short' : ''}
            style={{ width: `${100 * Math.min(share, 1)}%` }}
          />
        </span>
      )}
      <span
        className="gl-Meter-value"
        title={
          memory_limit_bytes
            ? trans.__('Used / limit of all workers')
            : trans.__('Used; no limit is set')
        }
      >
        {memory_limit_bytes
          ? formatShare(memory_bytes, memory_limit_bytes)
          : formatBytes(memory_bytes)}
      </span>
    </div>
  );
}

export function Tasks(props: { tasks: ITaskCounts }): JSX.Element {
  const trans = useTrans();
  const { waiting, ready, running, memory, released, erred } = props.tasks;
  const done = memory + released;
  return (
    <div className="gl-Card-tasks">
      <span>
        {trans._n('%2 task done', '%2 tasks done', done, formatCount(done))}
      </span>
      <span>{trans.__('%1 running', formatCount(running))}</span>
      {waiting + ready > 0 && (
        <span>{trans.__('%1 waiting', formatCount(waiting + ready))}</span>
      )}
      {erred > 0 && (
        <span className="gl-mod-erred">
          {trans.__('%1 failed', formatCount(erred))}
        </span>
      )}
    </div>
  );
}
