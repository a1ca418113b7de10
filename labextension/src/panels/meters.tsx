/**
 * The numbers of a cluster that change all the time.
 */
import * as React from 'react';
import {
  formatBytes,
  formatCores,
  formatCount,
  formatDuration,
  formatShare
} from '../model/format';
import { MEMORY_SHORT, memoryShare } from '../model/kinds';
import {
  ICluster,
  IDashboardsCost,
  IDeviceMemory,
  IEngineCost,
  ITaskCounts
} from '../tokens';
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
      {cluster.device_memory && <DeviceMemory memory={cluster.device_memory} />}
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

function DeviceMemory(props: { memory: IDeviceMemory }): JSX.Element {
  const trans = useTrans();
  const { held_bytes, pool_bytes, other_bytes, moved_bytes, total_bytes } =
    props.memory;
  const parts = [
    { kind: 'held', bytes: held_bytes },
    { kind: 'working', bytes: Math.max(pool_bytes - held_bytes, 0) },
    { kind: 'other', bytes: other_bytes }
  ];
  const facts = [
    trans.__('Results: %1', formatBytes(held_bytes)),
    trans.__(
      'Tasks and what the allocator keeps: %1',
      formatBytes(parts[1].bytes)
    ),
    trans.__('Other processes: %1', formatBytes(other_bytes)),
    trans.__('Results moved to the host: %1', formatBytes(moved_bytes))
  ];
  return (
    <div
      className="gl-Meter"
      data-meter="device-memory"
      title={facts.join('\n')}
    >
      <span className="gl-Meter-label">{trans.__('GPU memory')}</span>
      <span className="gl-Bar gl-mod-parts">
        {parts.map(({ kind, bytes }) => (
          <span
            key={kind}
            data-part={kind}
            style={{
              width: `${(100 * Math.min(bytes, total_bytes)) / total_bytes}%`
            }}
          />
        ))}
      </span>
      <span className="gl-Meter-value">
        {formatShare(pool_bytes + other_bytes, total_bytes)}
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

/** What a cluster takes beside its workers. */
export function Overhead(props: { cost: IEngineCost }): JSX.Element {
  const trans = useTrans();
  const { cost } = props;
  const cpu = formatCores(cost.cpu_percent);
  const memory = formatBytes(cost.memory_bytes);
  const facts = [
    trans.__('What the cluster takes beside its workers'),
    trans.__('Head, the process that schedules: %1 of a core, %2', cpu, memory),
    trans.__(
      'Its event loop was late by %1 at most, in the last minute',
      formatDuration(cost.loop_lag_s)
    ),
    trans.__(
      'Log of its metrics: %1 in memory, %2 on disk',
      formatBytes(cost.log_memory_bytes),
      formatBytes(cost.log_disk_bytes)
    ),
    trans._n(
      '%2 reader of the log, such as this panel and the dashboards',
      '%2 readers of the log, such as this panel and the dashboards',
      cost.readers,
      formatCount(cost.readers)
    )
  ];
  return (
    <div className="gl-Card-overhead" title={facts.join('\n')}>
      {trans.__('Overhead: %1 CPU, %2', cpu, memory)}
    </div>
  );
}

/** What drawing dashboards takes. */
export function DashboardsOverhead(props: {
  cost: IDashboardsCost;
}): JSX.Element {
  const trans = useTrans();
  const { cpu_percent, memory_bytes } = props.cost;
  return (
    <p
      className="gl-Dashboards-overhead"
      title={trans.__(
        'What the process takes that draws the dashboards of all clusters. It runs beside the Jupyter server; pages that nobody sees cost nothing. 100 % is one core busy.'
      )}
    >
      {trans.__(
        'Drawing: %1 CPU, %2',
        formatCores(cpu_percent),
        formatBytes(memory_bytes)
      )}
    </p>
  );
}
