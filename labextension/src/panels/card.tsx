/**
 * One cluster in the list: what it is, how busy it is, and what can be done with it.
 */
import { closeIcon, LabIcon } from '@jupyterlab/ui-components';
import * as React from 'react';
import { glassloomIcon } from '../icons';
import {
  formatAge,
  formatBytes,
  formatCount,
  formatNumber,
  formatShare
} from '../model/format';
import { canShutDown, describeSize } from '../model/kinds';
import {
  ICluster,
  IClusterElsewhere,
  IRecording,
  ITaskCounts
} from '../tokens';
import { Sparkline } from './sparkline';

const STARTED_BY: Record<string, string> = {
  notebook: 'from a notebook',
  panel: 'from this panel',
  script: 'from a script'
};

/** From this share of its limit on, memory is short; the engine spills at about the same. */
const MEMORY_SHORT = 0.7;

export interface ICardProps {
  cluster: ICluster;
  isActive: boolean;
  isShuttingDown: boolean;
  nowMs: number;
  onSelect: (id: string) => void;
  onOpen: (id: string) => void;
  onShutDown: (id: string) => void;
}

export function ClusterCard(props: ICardProps): JSX.Element {
  const { cluster, isActive, isShuttingDown } = props;
  return (
    <li
      className={
        'gl-Card' +
        (isActive ? ' gl-mod-active' : '') +
        (isShuttingDown ? ' gl-mod-ending' : '')
      }
      data-cluster={cluster.id}
      onClick={() => props.onSelect(cluster.id)}
    >
      <div className="gl-Card-head">
        <button
          className="gl-Card-name"
          title={cluster.name}
          aria-pressed={isActive}
        >
          {cluster.name}
        </button>
        <CardButton
          icon={glassloomIcon}
          label={`Open the dashboard of ${cluster.name}`}
          action="open"
          onClick={() => props.onOpen(cluster.id)}
        />
        {canShutDown(cluster) && (
          <CardButton
            icon={closeIcon}
            label={`Shut down ${cluster.name}`}
            action="shut-down"
            isDisabled={isShuttingDown}
            onClick={() => props.onShutDown(cluster.id)}
          />
        )}
      </div>
      <div className="gl-Card-facts">
        {isShuttingDown
          ? 'Shutting down…'
          : cluster.problem
            ? 'Cannot be read'
            : describeSize(cluster)}
      </div>
      {cluster.problem ? (
        <div className="gl-Card-problem">{cluster.problem}</div>
      ) : (
        <>
          <Meters cluster={cluster} />
          <Tasks tasks={cluster.tasks} />
        </>
      )}
      <div className="gl-Card-origin">
        {describeOrigin(cluster, props.nowMs)}
      </div>
    </li>
  );
}

export interface IRecordingCardProps {
  recording: IRecording;
  nowMs: number;
  onOpen: (id: string) => void;
  onClose: (id: string) => void;
}

export function RecordingCard(props: IRecordingCardProps): JSX.Element {
  const { recording } = props;
  return (
    <li className="gl-Card" data-recording={recording.id}>
      <div className="gl-Card-head">
        <div className="gl-Card-name" title={recording.name}>
          {recording.name}
        </div>
        <CardButton
          icon={glassloomIcon}
          label={`Open the dashboard of ${recording.name}`}
          action="open"
          onClick={() => props.onOpen(recording.id)}
        />
        <CardButton
          icon={closeIcon}
          label={`Close ${recording.name}; its file stays`}
          action="close"
          onClick={() => props.onClose(recording.id)}
        />
      </div>
      <div className="gl-Card-facts">Recording</div>
      <div className="gl-Card-origin">
        {`Opened ${formatAge(props.nowMs / 1000 - recording.opened_at)}`}
      </div>
    </li>
  );
}

/** A cluster that can only be reached elsewhere. */
export function ElsewhereCard(props: {
  cluster: IClusterElsewhere;
}): JSX.Element {
  const { name, host } = props.cluster;
  return (
    <li className="gl-Card" data-elsewhere={props.cluster.id}>
      <div className="gl-Card-name" title={name}>
        {name}
      </div>
      <div className="gl-Card-facts">
        {`On ${host}, where alone it can be reached`}
      </div>
    </li>
  );
}

function CardButton(props: {
  icon: LabIcon;
  label: string;
  action: string;
  isDisabled?: boolean;
  onClick: () => void;
}): JSX.Element {
  return (
    <button
      className="gl-Card-button"
      title={props.label}
      aria-label={props.label}
      data-action={props.action}
      disabled={props.isDisabled}
      onClick={event => {
        event.stopPropagation();
        props.onClick();
      }}
    >
      <props.icon.react tag={null} />
    </button>
  );
}

function Meters(props: { cluster: ICluster }): JSX.Element {
  const { cluster } = props;
  const limit = cluster.memory_limit_bytes;
  const share = limit ? Math.min(cluster.memory_bytes / limit, 1) : null;
  const top = Math.max(100 * cluster.threads, ...cluster.cpu_history, 1);
  return (
    <>
      <div className="gl-Meter">
        <span className="gl-Meter-label">CPU</span>
        <Sparkline
          values={cluster.cpu_history}
          top={top}
          label="CPU use over the last minute"
        />
        <span className="gl-Meter-value" title="100 % is one core busy">
          {`${Math.round(cluster.cpu_percent)} %`}
        </span>
      </div>
      <div className="gl-Meter">
        <span className="gl-Meter-label">Memory</span>
        {share !== null && (
          <span className="gl-Bar">
            <span
              className={share >= MEMORY_SHORT ? 'gl-mod-short' : ''}
              style={{ width: `${100 * share}%` }}
            />
          </span>
        )}
        <span
          className="gl-Meter-value"
          title={
            limit ? 'Used / limit of all workers' : 'Used; no limit is set'
          }
        >
          {limit
            ? formatShare(cluster.memory_bytes, limit)
            : formatBytes(cluster.memory_bytes)}
        </span>
      </div>
    </>
  );
}

function Tasks(props: { tasks: ITaskCounts }): JSX.Element {
  const { waiting, ready, running, memory, released, erred } = props.tasks;
  return (
    <div className="gl-Card-tasks">
      <span>{formatNumber(memory + released, 'task')} done</span>
      <span>{formatCount(running)} running</span>
      {waiting + ready > 0 && (
        <span>{formatCount(waiting + ready)} waiting</span>
      )}
      {erred > 0 && (
        <span className="gl-mod-erred">{formatCount(erred)} failed</span>
      )}
    </div>
  );
}

function describeOrigin(cluster: ICluster, nowMs: number): string {
  const age = formatAge(nowMs / 1000 - cluster.started_at);
  const origin = STARTED_BY[cluster.started_by] ?? `by ${cluster.started_by}`;
  return `Started ${origin} ${age}`;
}
