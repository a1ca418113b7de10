/**
 * The section of clusters.
 */
import { TranslationBundle } from '@jupyterlab/translation';
import * as React from 'react';
import { referenceOf } from '../model/insertion';
import { isShared } from '../model/kinds';
import { IClusters, INotebooks, IRecordings, IStateStream } from '../tokens';
import { ClusterCard } from './card';
import { Hint, SectionWidget, useTrans } from './section';
import { ElsewhereCard, RecordingCard, StartCard } from './smallCards';

export interface IClustersOptions {
  trans: TranslationBundle;
  stream: IStateStream;
  clusters: IClusters;
  recordings: IRecordings;
  notebooks: INotebooks | null;
  /** The pointer or the keyboard has come to what opens a dashboard. */
  onApproach: () => void;
  onOpen: (id: string) => void;
  onInsert: (id: string) => void;
  onMenu: (id: string, anchor: DOMRect) => void;
  onOpenFile: (path: string) => void;
  onDismissStart: (id: string) => void;
  onRetryStart: (id: string) => void;
  onCloseRecording: (id: string) => void;
}

export class ClustersSection extends SectionWidget {
  constructor(private readonly _options: IClustersOptions) {
    super(_options.trans, _options.stream.clock, [
      _options.clusters,
      _options.recordings,
      _options.notebooks
    ]);
    this.addClass('gl-ClusterList');
  }

  protected draw(): JSX.Element {
    const { clusters, recordings, notebooks, stream } = this._options;
    const { all, starts, elsewhere, active } = clusters;
    const lists = [all, starts, recordings.open, elsewhere];
    if (stream.isMissing) {
      return <></>; // the panel says so
    }
    if (lists.every(list => list.length === 0)) {
      return <NoClusters isKnown={stream.connection === 'connected'} />;
    }
    return (
      <ul
        role="list"
        className="gl-Cards"
        aria-label={this.trans.__('Clusters and recordings')}
      >
        {starts.map(start => (
          <StartCard
            key={start.id}
            start={start}
            onDismiss={this._options.onDismissStart}
            onRetry={
              clusters.requestOf(start.id) === null
                ? null
                : this._options.onRetryStart
            }
          />
        ))}
        {[...all].reverse().map(cluster => (
          <ClusterCard
            key={cluster.id}
            cluster={cluster}
            reference={referenceOf(cluster, all)}
            isActive={cluster.id === active?.id}
            isShuttingDown={clusters.isShuttingDown(cluster.id)}
            onSelect={id => clusters.activate(id)}
            onApproach={this._options.onApproach}
            onOpen={this._options.onOpen}
            onInsert={
              notebooks?.current && isShared(cluster)
                ? this._options.onInsert
                : null
            }
            onMenu={this._options.onMenu}
            onOpenFile={this._options.onOpenFile}
          />
        ))}
        {[...recordings.open].reverse().map(recording => (
          <RecordingCard
            key={recording.id}
            recording={recording}
            onOpen={this._options.onOpen}
            onClose={this._options.onCloseRecording}
          />
        ))}
        {elsewhere.map(cluster => (
          <ElsewhereCard key={cluster.id} cluster={cluster} />
        ))}
      </ul>
    );
  }
}

function NoClusters(props: { isKnown: boolean }): JSX.Element {
  const trans = useTrans();
  if (!props.isKnown) {
    return <Hint>{trans.__('Looking for clusters…')}</Hint>;
  }
  return (
    <Hint>
      <p>
        <strong>{trans.__('No clusters yet')}</strong>
      </p>
      <p>
        {trans.__(
          'Run Client() in a notebook, or press New above. Every cluster of yours appears here, whoever started it.'
        )}
      </p>
    </Hint>
  );
}
