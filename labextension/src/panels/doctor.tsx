/**
 * The doctor: what stands between a cluster and the screen, hop by hop, which one is broken and how to mend it.
 */
import { Dialog } from '@jupyterlab/apputils';
import { TranslationBundle } from '@jupyterlab/translation';
import { ReactWidget } from '@jupyterlab/ui-components';
import * as React from 'react';
import { IHop } from '../tokens';

const SIGNS: Record<IHop['state'], string> = {
  good: '✓',
  bad: '✗',
  unknown: '?',
  skipped: '–'
};

class HopList extends ReactWidget {
  constructor(
    private readonly _trans: TranslationBundle,
    private readonly _hops: IHop[]
  ) {
    super();
    this.addClass('gl-Doctor');
  }

  protected render(): JSX.Element {
    const trans = this._trans;
    const states = {
      good: trans.__('good'),
      bad: trans.__('broken'),
      unknown: trans.__('unknown'),
      skipped: trans.__('not looked at')
    };
    const broken = this._hops.find(({ state }) => state === 'bad');
    return (
      <>
        <p className="gl-Doctor-verdict">
          {broken
            ? trans.__('The fault is here: %1.', broken.title)
            : trans.__('No fault was found.')}
        </p>
        <ol role="list" className="gl-Hops">
          {this._hops.map(hop => (
            <li key={hop.id} className="gl-Hop" data-state={hop.state}>
              <span className="gl-Hop-sign" aria-hidden="true">
                {SIGNS[hop.state]}
              </span>
              <div>
                <strong>{hop.title}</strong>
                <span className="gl-Hop-state">{` ${states[hop.state]}`}</span>
                {hop.detail && <div>{hop.detail}</div>}
                {hop.state === 'bad' && hop.mend && (
                  <div className="gl-Hop-mend">{hop.mend}</div>
                )}
              </div>
            </li>
          ))}
        </ol>
      </>
    );
  }
}

/** Show what was found until the person closes it; resolves with whether it is to be looked for again. */
export async function showDoctor(
  trans: TranslationBundle,
  name: string | null,
  hops: IHop[]
): Promise<boolean> {
  const dialog = new Dialog({
    title:
      name === null
        ? trans.__('Connection')
        : trans.__('Connection to %1', name),
    body: new HopList(trans, hops),
    hasClose: true,
    buttons: [
      Dialog.createButton({
        label: trans.__('Look Again'),
        actions: ['again']
      }),
      Dialog.okButton({ label: trans.__('Close') })
    ],
    defaultButton: 1
  });
  dialog.addClass('gl-WideDialog');
  return (await dialog.launch()).button.actions.includes('again');
}
