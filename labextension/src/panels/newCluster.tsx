/**
 * The form for a new cluster, made of the server's JSON Schema. A profile fills it in; all fields may be left empty.
 */
import { Dialog, showDialog } from '@jupyterlab/apputils';
import { TranslationBundle } from '@jupyterlab/translation';
import { FormComponent, ReactWidget } from '@jupyterlab/ui-components';
import { ReadonlyJSONObject } from '@lumino/coreutils';
import * as React from 'react';
import { formSchema, requestOf } from '../model/profiles';
import { IClusterRequest, IJSONSchema, IProfiles } from '../tokens';

type FormProps = Parameters<typeof FormComponent>[0];

/** What is filled in is checked by the server, whose messages are for people. */
const VALIDATOR = {
  isValid: () => true,
  toErrorList: () => [],
  validateFormData: () => ({ errors: [], errorSchema: {} }),
  rawValidation: () => ({ errors: [] })
} as unknown as FormProps['validator'];

interface IFieldProps {
  id: string;
  label?: string;
  description?: unknown;
  schema: { type?: unknown; description?: string };
  children: React.ReactNode;
}

/** A field with a label of its own; JupyterLab's template has a headline, which says nothing to a screen reader. */
function Field(props: IFieldProps): JSX.Element {
  if (props.schema.type === 'object') {
    return <>{props.children}</>;
  }
  return (
    <div className="gl-Form-field">
      <label htmlFor={props.id}>{props.label}</label>
      {props.children}
      {props.schema.description && <small>{props.schema.description}</small>}
    </div>
  );
}

const TEMPLATES = { FieldTemplate: Field } as unknown as FormProps['templates'];

export class NewClusterForm extends ReactWidget {
  /**
   * @param initial - What the fields hold at first.
   * @param error - Why the last try failed, if there was one.
   */
  constructor(
    private readonly _trans: TranslationBundle,
    private readonly _profiles: IProfiles,
    initial: IClusterRequest = {},
    private readonly _error?: string
  ) {
    super();
    this.addClass('gl-Form');
    this._schema = formSchema(_profiles);
    const { profile, ...values } = initial;
    this._profile = profile ?? '';
    this._values = values;
  }

  getValue(): IClusterRequest {
    const values = requestOf(this._values);
    return this._profile ? { profile: this._profile, ...values } : values;
  }

  protected render(): JSX.Element {
    return (
      <>
        {this._error !== undefined && (
          <pre className="gl-Form-error" role="alert">
            {this._error}
          </pre>
        )}
        {this._profiles.profiles.length > 0 && this._profileField()}
        <FormComponent
          key={this._profile}
          schema={this._schema as FormProps['schema']}
          formData={this._values as ReadonlyJSONObject}
          validator={VALIDATOR}
          templates={TEMPLATES}
          uiSchema={this._uiSchema()}
          idPrefix="gl-new"
          liveValidate={false}
          noHtml5Validate
          tagName="div"
          onChange={({ formData }) => {
            this._values = formData ?? {};
          }}
        />
      </>
    );
  }

  private _profileField(): JSX.Element {
    const { profiles } = this._profiles;
    const trans = this._trans;
    const chosen = profiles.find(({ name }) => name === this._profile);
    return (
      <div className="gl-Form-field">
        <label htmlFor="gl-new-profile">{trans.__('Profile')}</label>
        <select
          id="gl-new-profile"
          className="jp-mod-styled"
          value={this._profile}
          onChange={event => {
            this._profile = event.target.value;
            const values = profiles.find(
              ({ name }) => name === this._profile
            )?.values;
            this._values = { ...values };
            this.update();
          }}
        >
          <option value="">{trans.__('Chosen by the engine')}</option>
          {profiles.map(({ name, title }) => (
            <option key={name} value={name}>
              {title}
            </option>
          ))}
        </select>
        {chosen?.description && <small>{chosen.description}</small>}
      </div>
    );
  }

  /** What an empty field means. */
  private _uiSchema(): FormProps['uiSchema'] {
    const trans = this._trans;
    const empty: Record<string, string> = {
      name: trans.__('chosen for you'),
      n_workers: trans.__('one for every few cores'),
      threads_per_worker: trans.__('all cores, shared out'),
      memory_limit: trans.__('an equal share, such as 2 GiB'),
      idle_timeout: trans.__('never, or such as 30 min')
    };
    return Object.fromEntries(
      Object.keys(this._schema.properties ?? {}).map(name => [
        name,
        { 'ui:placeholder': empty[name] ?? '' }
      ])
    );
  }

  private readonly _schema: IJSONSchema;
  private _profile: string;
  private _values: IClusterRequest;
}

/** Ask for a new cluster's settings; null if the person thought better of it. */
export async function askForCluster(
  trans: TranslationBundle,
  profiles: IProfiles,
  initial?: IClusterRequest,
  error?: string
): Promise<IClusterRequest | null> {
  const { button, value } = await showDialog<IClusterRequest>({
    title: error
      ? trans.__('The cluster did not start')
      : trans.__('New cluster'),
    body: new NewClusterForm(trans, profiles, initial, error),
    focusNodeSelector: '.gl-Form input',
    buttons: [
      Dialog.cancelButton({ label: trans.__('Cancel') }),
      Dialog.okButton({
        label: error ? trans.__('Try again') : trans.__('Start')
      })
    ]
  });
  return button.accept ? value : null;
}
