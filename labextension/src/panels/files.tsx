/**
 * Recordings that there are, and what is being made of them.
 */
import { PathExt } from '@jupyterlab/coreutils';
import {
  closeIcon,
  downloadIcon,
  historyIcon,
  launchIcon
} from '@jupyterlab/ui-components';
import * as React from 'react';
import { isGoing } from '../model/exports';
import { formatBytes, formatDuration } from '../model/format';
import {
  canDownload,
  canOpen,
  describeExport,
  describeFormat
} from '../model/formats';
import { IExport, IRecordingFile } from '../tokens';
import { Age, IconButton, useNow, useTrans } from './section';

export interface IFilesOptions {
  onReplay: (path: string) => void;
  /** Offer the formats below a button. */
  onExport: (path: string, anchor: DOMRect) => void;
  onOpenExport: (id: string) => void;
  onDownloadExport: (id: string) => void;
  onDismissExport: (id: string) => void;
}

export function Files(props: {
  files: readonly IRecordingFile[];
  options: IFilesOptions;
}): JSX.Element | null {
  const trans = useTrans();
  if (props.files.length === 0) {
    return null;
  }
  return (
    <section className="gl-Group" data-group="recordings">
      <h3 className="gl-Group-title">
        <span>{trans.__('Recordings')}</span>
      </h3>
      <ul role="list" className="gl-Pages" aria-label={trans.__('Recordings')}>
        {props.files.map(file => (
          <li key={file.path} className="gl-PageRow">
            <div className="gl-File" title={file.path} data-path={file.path}>
              <span className="gl-Page-title">{file.name}</span>
              <span className="gl-Page-description">
                {file.problem || (
                  <>
                    {PathExt.basename(file.path)} · {formatBytes(file.bytes)}
                    {' · '}
                    <Age sinceS={file.modified_at} />
                  </>
                )}
              </span>
            </div>
            <IconButton
              icon={historyIcon}
              label={trans.__('Replay %1', file.name)}
              action="replay"
              isDisabled={file.problem !== ''}
              onClick={() => props.options.onReplay(file.path)}
            />
            <IconButton
              icon={downloadIcon}
              label={trans.__('Export %1', file.name)}
              action="export"
              isDisabled={file.problem !== ''}
              hasMenu
              onClick={({ currentTarget }) =>
                props.options.onExport(
                  file.path,
                  currentTarget.getBoundingClientRect()
                )
              }
            />
          </li>
        ))}
      </ul>
    </section>
  );
}

/** What is written to other formats, or was, the newest first. */
export function ExportRows(props: {
  exports: readonly IExport[];
  options: IFilesOptions;
}): JSX.Element | null {
  const trans = useTrans();
  if (props.exports.length === 0) {
    return null;
  }
  return (
    <section className="gl-Group" data-group="exports">
      <h3 className="gl-Group-title">
        <span>{trans.__('Exports')}</span>
      </h3>
      <ul role="list" className="gl-Pages" aria-label={trans.__('Exports')}>
        {[...props.exports].reverse().map(each => (
          <ExportRow key={each.id} made={each} options={props.options} />
        ))}
      </ul>
    </section>
  );
}

function ExportRow(props: {
  made: IExport;
  options: IFilesOptions;
}): JSX.Element {
  const trans = useTrans();
  const { made, options } = props;
  const { id, name } = made;
  const format = describeFormat(trans, made.to);
  const what = trans.__('%1 of %2', format, name);
  return (
    <li className="gl-PageRow" data-export={id} data-state={made.state}>
      <div className="gl-File" title={made.problem || what}>
        <span className="gl-Page-title">{what}</span>
        <span className="gl-Page-description">
          <span role="status">{describeExport(trans, made)}</span>
          {isGoing(made) && <Elapsed sinceS={made.started_at} />}
        </span>
      </div>
      {canOpen(made) && (
        <IconButton
          icon={launchIcon}
          label={trans.__('Open %1', what)}
          action="open-export"
          onClick={() => options.onOpenExport(id)}
        />
      )}
      {canDownload(made) && (
        <IconButton
          icon={downloadIcon}
          label={trans.__('Download %1', what)}
          action="download-export"
          onClick={() => options.onDownloadExport(id)}
        />
      )}
      <IconButton
        icon={closeIcon}
        label={
          isGoing(made)
            ? trans.__('Cancel the export of %1', name)
            : trans.__('Dismiss %1', what)
        }
        action="dismiss-export"
        onClick={() => options.onDismissExport(id)}
      />
    </li>
  );
}

function Elapsed({ sinceS }: { sinceS: number }): JSX.Element {
  const seconds = Math.max(0, Math.round(useNow() / 1000 - sinceS));
  return <> {formatDuration(seconds)}</>;
}
