/**
 * The panel's list of dashboard pages of the active cluster.
 */
import { ReactWidget } from '@jupyterlab/ui-components';
import { CommandRegistry } from '@lumino/commands';
import * as React from 'react';
import { CommandIDs } from '../commands';
import { IClusterModel } from '../tokens';

export class DashboardList extends ReactWidget {
  constructor(
    private readonly _model: IClusterModel,
    private readonly _commands: CommandRegistry
  ) {
    super();
    this.addClass('gl-DashboardList');
    _model.changed.connect(this._onChanged, this);
  }

  dispose(): void {
    this._model.changed.disconnect(this._onChanged, this);
    super.dispose();
  }

  protected render(): JSX.Element {
    const { active, pages } = this._model;
    return (
      <>
        {active ? (
          <p className="gl-Dashboards-of" title={active.name}>
            of <b>{active.name}</b>
          </p>
        ) : (
          <p className="gl-Hint">Start a cluster to see its dashboards.</p>
        )}
        <ul className="gl-Pages" aria-label="Dashboards">
          {pages.map(page => (
            <li key={page.id}>
              <button
                className="gl-Page"
                data-page={page.id}
                title={page.description}
                disabled={active === null}
                onClick={() => this._open(page.id)}
              >
                <span className="gl-Page-title">{page.title}</span>
                <span className="gl-Page-description">{page.description}</span>
              </button>
            </li>
          ))}
        </ul>
      </>
    );
  }

  private _open(page: string): void {
    const cluster = this._model.active?.id;
    if (cluster !== undefined) {
      void this._commands.execute(CommandIDs.openDashboard, { cluster, page });
    }
  }

  private _onChanged(): void {
    this.update();
  }
}
