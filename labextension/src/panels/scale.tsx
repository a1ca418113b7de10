/**
 * The dialog that asks how many workers a cluster is to have: so many, or as many as the work needs.
 */
import { Dialog, showDialog } from '@jupyterlab/apputils';
import { TranslationBundle } from '@jupyterlab/translation';
import { ReactWidget } from '@jupyterlab/ui-components';
import * as React from 'react';
import { can } from '../model/kinds';
import { IBounds, ICluster } from '../tokens';

export type Wish = { n: number } | IBounds;

export class ScaleForm extends ReactWidget {
  constructor(
    private readonly _trans: TranslationBundle,
    private readonly _cluster: ICluster
  ) {
    super();
    this.addClass('gl-Form');
    const { workers, adaptive } = _cluster;
    this._isAdaptive = adaptive !== null || !can(_cluster, 'scale');
    this._n = workers;
    this._bounds = adaptive ?? { minimum: 1, maximum: Math.max(workers, 2) };
  }

  getValue(): Wish {
    return this._isAdaptive ? this._bounds : { n: this._n };
  }

  protected render(): JSX.Element {
    const trans = this._trans;
    const { minimum, maximum } = this._bounds;
    return (
      <>
        {can(this._cluster, 'scale') && (
          <fieldset className="gl-Form-choice">
            {this._choice(false, trans.__('A fixed number of workers'))}
            {this._number('n', trans.__('Workers'), this._n, value => {
              this._n = value;
            })}
          </fieldset>
        )}
        {can(this._cluster, 'adapt') && (
          <fieldset className="gl-Form-choice">
            {this._choice(true, trans.__('As many as the work needs'))}
            {this._number('minimum', trans.__('At least'), minimum, value => {
              this._bounds = { ...this._bounds, minimum: value };
            })}
            {this._number('maximum', trans.__('At most'), maximum, value => {
              this._bounds = { ...this._bounds, maximum: value };
            })}
          </fieldset>
        )}
      </>
    );
  }

  private _choice(isAdaptive: boolean, label: string): JSX.Element {
    return (
      <label>
        <input
          type="radio"
          name="mode"
          checked={this._isAdaptive === isAdaptive}
          onChange={() => {
            this._isAdaptive = isAdaptive;
            this.update();
          }}
        />
        <span>{label}</span>
      </label>
    );
  }

  private _number(
    name: string,
    label: string,
    value: number,
    onChange: (value: number) => void
  ): JSX.Element {
    const isAdaptive = name !== 'n';
    return (
      <label className="gl-Form-field">
        <span>{label}</span>
        <input
          className="jp-mod-styled"
          type="number"
          name={name}
          min={name === 'maximum' ? 1 : 0}
          step={1}
          value={value}
          onChange={event => {
            onChange(Math.max(0, Math.round(event.target.valueAsNumber || 0)));
            this._isAdaptive = isAdaptive;
            this.update();
          }}
        />
      </label>
    );
  }

  private _isAdaptive: boolean;
  private _n: number;
  private _bounds: IBounds;
}

/** Ask how many workers a cluster is to have; null if the person thought better of it. */
export async function askForScale(
  trans: TranslationBundle,
  cluster: ICluster
): Promise<Wish | null> {
  const { button, value } = await showDialog<Wish>({
    title: trans.__('Scale %1', cluster.name),
    body: new ScaleForm(trans, cluster),
    focusNodeSelector: 'input[type="number"]',
    buttons: [
      Dialog.cancelButton({ label: trans.__('Cancel') }),
      Dialog.okButton({ label: trans.__('Scale') })
    ]
  });
  return button.accept ? value : null;
}
