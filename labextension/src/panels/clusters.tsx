/**
 * The panel's list of clusters.
 */
import { ReactWidget } from '@jupyterlab/ui-components';
import { CommandRegistry } from '@lumino/commands';
import * as React from 'react';
import { CommandIDs } from '../commands';
import { Connection, IClusterModel } from '../tokens';
import { ClusterCard, ElsewhereCard, RecordingCard } from './card';

export class ClusterList extends ReactWidget {
  constructor(
    private readonly _model: IClusterModel,
    private readonly _commands: CommandRegistry
  ) {
    super();
    this.addClass('gl-ClusterList');
    _model.changed.connect(this._onChanged, this);
  }

  dispose(): void {
    this._model.changed.disconnect(this._onChanged, this);
    super.dispose();
  }

  protected render(): JSX.Element {
    const { clusters, starting, active, connection } = this._model;
    const { recordings, elsewhere } = this._model;
    const lists = [clusters, starting, recordings, elsewhere];
    if (lists.every(list => list.length === 0)) {
      return <NoClusters connection={connection} />;
    }
    return (
      <>
        {connection === 'lost' && <Stale />}
        <ul className="gl-Cards" aria-label="Clusters and recordings">
          {starting.map((name, index) => (
            <li key={`starting-${index}`} className="gl-Card gl-mod-starting">
              <div className="gl-Card-name" title={name}>
                {name}
              </div>
              <div className="gl-Card-facts">Starting…</div>
            </li>
          ))}
          {[...clusters].reverse().map(cluster => (
            <ClusterCard
              key={cluster.id}
              cluster={cluster}
              isActive={cluster.id === active?.id}
              isShuttingDown={this._model.isShuttingDown(cluster.id)}
              nowMs={Date.now()}
              onSelect={id => this._model.activate(id)}
              onOpen={id =>
                this._execute(CommandIDs.openDashboard, { cluster: id })
              }
              onShutDown={id =>
                this._execute(CommandIDs.shutDownCluster, { cluster: id })
              }
            />
          ))}
          {[...recordings].reverse().map(recording => (
            <RecordingCard
              key={recording.id}
              recording={recording}
              nowMs={Date.now()}
              onOpen={id =>
                this._execute(CommandIDs.openDashboard, { cluster: id })
              }
              onClose={id =>
                this._execute(CommandIDs.closeRecording, { recording: id })
              }
            />
          ))}
          {elsewhere.map(cluster => (
            <ElsewhereCard key={cluster.id} cluster={cluster} />
          ))}
        </ul>
      </>
    );
  }

  private _execute(command: string, args: Record<string, string>): void {
    void this._commands.execute(command, args);
  }

  private _onChanged(): void {
    this.update();
  }
}

function NoClusters(props: { connection: Connection }): JSX.Element {
  if (props.connection === 'connecting') {
    return <p className="gl-Hint">Looking for clusters…</p>;
  }
  if (props.connection === 'lost') {
    return <Stale />;
  }
  return (
    <div className="gl-Hint">
      <p>
        <strong>No clusters yet</strong>
      </p>
      <p>
        Run <code>Client()</code> in a notebook, or press <b>New</b> above.
        Every cluster of yours appears here, whoever started it.
      </p>
    </div>
  );
}

function Stale(): JSX.Element {
  return (
    <p className="gl-Hint gl-mod-warning" role="status">
      No connection to the Jupyter server. Trying again…
    </p>
  );
}
