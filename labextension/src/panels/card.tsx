/**
 * One cluster in the list: what it is, how busy it is, and what can be done with it.
 */
import { PathExt } from '@jupyterlab/coreutils';
import { TranslationBundle } from '@jupyterlab/translation';
import { codeIcon, ellipsesIcon } from '@jupyterlab/ui-components';
import * as React from 'react';
import { glassloomIcon } from '../icons';
import { describeIdle, describeSize, describeState } from '../model/kinds';
import { ICluster } from '../tokens';
import { dragCode } from './drag';
import { Meters, Overhead, Tasks } from './meters';
import { Age, IconButton, useNow, useTrans } from './section';

export interface ICardProps {
  cluster: ICluster;
  /** What `Client` finds it by. */
  reference: string;
  isActive: boolean;
  isShuttingDown: boolean;
  onSelect: (id: string) => void;
  onApproach: () => void;
  onOpen: (id: string) => void;
  /** Insert the code that connects to it; null where there are no notebooks. */
  onInsert: ((id: string) => void) | null;
  onMenu: (id: string, anchor: DOMRect) => void;
  onOpenFile: (path: string) => void;
}

export function ClusterCard(props: ICardProps): JSX.Element {
  const { cluster, isActive, isShuttingDown } = props;
  const trans = useTrans();
  return (
    <li
      className={
        'gl-Card' +
        (isActive ? ' gl-mod-active' : '') +
        (isShuttingDown ? ' gl-mod-ending' : '')
      }
      data-cluster={cluster.id}
      data-state={cluster.state}
      onPointerEnter={() => props.onApproach()}
      onFocus={() => props.onApproach()}
      onClick={() => props.onSelect(cluster.id)}
      onDoubleClick={event => {
        if (!isControl(event.target)) {
          props.onOpen(cluster.id);
        }
      }}
      onPointerDown={event => {
        if (props.onInsert !== null && !isControl(event.target)) {
          dragCode(event.nativeEvent, cluster.name, props.reference);
        }
      }}
    >
      <Head {...props} />
      <div className="gl-Card-facts">
        {isShuttingDown
          ? trans.__('Shutting down…')
          : cluster.problem
            ? trans.__('Cannot be read')
            : describeSize(trans, cluster)}
      </div>
      {cluster.state !== 'running' && !cluster.problem && (
        <State cluster={cluster} />
      )}
      {cluster.problem ? (
        <div className="gl-Card-problem">{cluster.problem}</div>
      ) : (
        <>
          <Meters cluster={cluster} />
          <Tasks tasks={cluster.tasks} />
          {cluster.engine && <Overhead cost={cluster.engine} />}
        </>
      )}
      <Origin {...props} />
      {cluster.idle_timeout_s !== null && cluster.idle_since !== null && (
        <Idle cluster={cluster} />
      )}
    </li>
  );
}

/** Whether something on the card does what it does by itself: all but the name, which stands for the card. */
function isControl(target: EventTarget): boolean {
  const button = target instanceof Element ? target.closest('button') : null;
  return button !== null && !button.classList.contains('gl-Card-name');
}

/** What its state is, and since when. */
function State({ cluster }: { cluster: ICluster }): JSX.Element {
  const words = describeState(useTrans(), cluster, useNow());
  return <div className="gl-Card-state">{words}</div>;
}

/** When it ends by itself. */
function Idle({ cluster }: { cluster: ICluster }): JSX.Element {
  const words = describeIdle(useTrans(), cluster, useNow());
  return <div className="gl-Card-origin">{words}</div>;
}

function Head(props: ICardProps): JSX.Element {
  const trans = useTrans();
  const { id, name } = props.cluster;
  const { onInsert } = props;
  return (
    <div className="gl-Card-head">
      <button
        className="gl-Card-name"
        title={name}
        aria-pressed={props.isActive}
      >
        {name}
      </button>
      <IconButton
        icon={glassloomIcon}
        label={trans.__('Open the dashboard of %1', name)}
        action="open"
        onClick={() => props.onOpen(id)}
      />
      {onInsert !== null && (
        <IconButton
          icon={codeIcon}
          label={trans.__(
            'Insert code that connects to %1 into the notebook (click or drag)',
            name
          )}
          action="insert"
          onPointerDown={event =>
            dragCode(event.nativeEvent, name, props.reference)
          }
          onClick={() => onInsert(id)}
        />
      )}
      <IconButton
        icon={ellipsesIcon}
        label={trans.__('What else can be done with %1', name)}
        action="menu"
        hasMenu
        onClick={event =>
          props.onMenu(id, event.currentTarget.getBoundingClientRect())
        }
      />
    </div>
  );
}

/** Where it was started and when; a notebook or script is opened by a click. */
function Origin(props: ICardProps): JSX.Element {
  const trans = useTrans();
  const { cluster } = props;
  const path = cluster.notebook ?? cluster.script;
  const age = <Age sinceS={cluster.started_at} />;
  if (path === null) {
    const origin = describeOrigin(trans, cluster.started_by);
    return (
      <div className="gl-Card-origin">
        <span>
          {origin} {age}
        </span>
      </div>
    );
  }
  return (
    <div className="gl-Card-origin">
      {cluster.notebook === null || path.startsWith('/') ? (
        <span title={path}>{PathExt.basename(path)}</span>
      ) : (
        <button
          className="gl-Link"
          title={trans.__('Open %1', path)}
          onClick={event => {
            event.stopPropagation();
            props.onOpenFile(path);
          }}
        >
          {PathExt.basename(path)}
        </button>
      )}
      <span> · {age}</span>
    </div>
  );
}

function describeOrigin(trans: TranslationBundle, startedBy: string): string {
  switch (startedBy) {
    case 'notebook':
      return trans.__('Started from a notebook');
    case 'panel':
      return trans.__('Started from this panel');
    case 'script':
      return trans.__('Started from a script');
    default:
      return trans.__('Started by %1', startedBy);
  }
}
