/**
 * What stands in the list of clusters beside the running ones: starts, recordings, and clusters of other machines.
 */
import { closeIcon } from '@jupyterlab/ui-components';
import * as React from 'react';
import { glassloomIcon } from '../icons';
import { titleOf, withTitles } from '../model/profiles';
import { IClusterElsewhere, IRecording, IStart } from '../tokens';
import { Age, IconButton, useTrans } from './section';

/** A cluster that was asked for: it is starting, or why it didn't. */
export function StartCard(props: {
  start: IStart;
  onDismiss: (id: string) => void;
  /** Change what was asked for and ask again; null where that isn't known. */
  onRetry: ((id: string) => void) | null;
}): JSX.Element {
  const trans = useTrans();
  const { id, name, state, problem, field } = props.start;
  const { onRetry } = props;
  const hasFailed = state === 'failed';
  return (
    <li
      className={
        'gl-Card gl-mod-starting' + (hasFailed ? ' gl-mod-failed' : '')
      }
      data-start={id}
    >
      <div className="gl-Card-head">
        <div className="gl-Card-name" title={name}>
          {name}
        </div>
        <IconButton
          icon={closeIcon}
          label={
            hasFailed
              ? trans.__('Dismiss %1', name)
              : trans.__('Cancel the start of %1', name)
          }
          action="dismiss"
          onClick={() => props.onDismiss(id)}
        />
      </div>
      <div className="gl-Card-facts" role="status">
        {hasFailed ? trans.__('Did not start') : trans.__('Starting…')}
      </div>
      {hasFailed && (
        <div className="gl-Card-problem">{wordsOf(problem, field)}</div>
      )}
      {hasFailed && onRetry !== null && (
        <button
          className="jp-mod-styled gl-Card-retry"
          data-action="retry"
          onClick={() => onRetry(id)}
        >
          {trans.__('Change and Try Again…')}
        </button>
      )}
    </li>
  );
}

/** Why a start has failed; the field that it is about is called what it says, as the form with its labels isn't there. */
function wordsOf(problem: string, field = ''): string {
  return withTitles(problem, field ? { [field]: titleOf(field) } : {});
}

export function RecordingCard(props: {
  recording: IRecording;
  onOpen: (id: string) => void;
  onClose: (id: string) => void;
}): JSX.Element {
  const trans = useTrans();
  const { id, name, opened_at } = props.recording;
  return (
    <li className="gl-Card" data-recording={id}>
      <div className="gl-Card-head">
        <div className="gl-Card-name" title={name}>
          {name}
        </div>
        <IconButton
          icon={glassloomIcon}
          label={trans.__('Open the dashboard of %1', name)}
          action="open"
          onClick={() => props.onOpen(id)}
        />
        <IconButton
          icon={closeIcon}
          label={trans.__('Close %1; its file stays', name)}
          action="close"
          onClick={() => props.onClose(id)}
        />
      </div>
      <div className="gl-Card-facts">{trans.__('Recording')}</div>
      <div className="gl-Card-origin">
        <Age sinceS={opened_at} say={age => trans.__('Opened %1', age)} />
      </div>
    </li>
  );
}

/** A cluster that can only be reached elsewhere. */
export function ElsewhereCard(props: {
  cluster: IClusterElsewhere;
}): JSX.Element {
  const trans = useTrans();
  const { id, name, host } = props.cluster;
  return (
    <li className="gl-Card" data-elsewhere={id}>
      <div className="gl-Card-name" title={name}>
        {name}
      </div>
      <div className="gl-Card-facts">
        {trans.__('On %1: it can be reached only there', host)}
      </div>
    </li>
  );
}
