/**
 * The form for a new cluster. All fields may be left empty.
 */
import { Dialog, showDialog } from '@jupyterlab/apputils';
import { ReactWidget } from '@jupyterlab/ui-components';
import * as React from 'react';
import { IClusterRequest } from '../tokens';

interface IField {
  name: keyof IClusterRequest;
  label: string;
  placeholder: string;
  hint: string;
  type: 'text' | 'number';
}

const FIELDS: IField[] = [
  {
    name: 'name',
    label: 'Name',
    placeholder: 'chosen for you',
    hint: 'Shown in this panel; Client("name") attaches to it.',
    type: 'text'
  },
  {
    name: 'n_workers',
    label: 'Workers',
    placeholder: 'one for every few cores',
    hint: 'Processes on this machine.',
    type: 'number'
  },
  {
    name: 'threads_per_worker',
    label: 'Threads per worker',
    placeholder: 'all cores, shared out',
    hint: '',
    type: 'number'
  },
  {
    name: 'memory_limit',
    label: 'Memory limit per worker',
    placeholder: 'an equal share, such as 2 GiB',
    hint: 'Above it, results go to disk.',
    type: 'text'
  }
];

/** Return what the form asks for: empty fields are left out, numbers are numbers. */
export function requestOf(values: Record<string, string>): IClusterRequest {
  const request: IClusterRequest = {};
  for (const { name, type } of FIELDS) {
    const text = (values[name] ?? '').trim();
    if (text !== '') {
      Object.assign(request, { [name]: type === 'number' ? +text : text });
    }
  }
  return request;
}

export class NewClusterForm extends ReactWidget {
  /**
   * @param initial - What the fields hold at first.
   * @param error - Why the last try failed, if there was one.
   */
  constructor(
    private readonly _initial: IClusterRequest = {},
    private readonly _error: string | null = null
  ) {
    super();
    this.addClass('gl-Form');
  }

  getValue(): IClusterRequest {
    const values: Record<string, string> = {};
    for (const input of this.node.querySelectorAll('input')) {
      values[input.name] = input.value;
    }
    return requestOf(values);
  }

  protected render(): JSX.Element {
    return (
      <>
        {this._error !== null && (
          <pre className="gl-Form-error" role="alert">
            {this._error}
          </pre>
        )}
        {FIELDS.map(field => (
          <label key={field.name} className="gl-Form-field">
            <span>{field.label}</span>
            <input
              className="jp-mod-styled"
              name={field.name}
              type={field.type}
              min={field.type === 'number' ? 1 : undefined}
              step={field.type === 'number' ? 1 : undefined}
              defaultValue={this._initial[field.name]}
              placeholder={field.placeholder}
            />
            {field.hint && <small>{field.hint}</small>}
          </label>
        ))}
      </>
    );
  }
}

/** Ask for a new cluster's settings; null if the person thought better of it. */
export async function askForCluster(
  initial?: IClusterRequest,
  error?: string
): Promise<IClusterRequest | null> {
  const result = await showDialog<IClusterRequest>({
    title: error ? 'The cluster did not start' : 'New cluster',
    body: new NewClusterForm(initial, error),
    focusNodeSelector: 'input',
    buttons: [
      Dialog.cancelButton(),
      Dialog.okButton({ label: error ? 'Try again' : 'Start' })
    ]
  });
  return result.button.accept ? result.value : null;
}
