/**
 * The form for a new cluster, made of the server's JSON Schema. A profile fills it in; all fields may be left empty.
 */
import { Dialog } from '@jupyterlab/apputils';
import { TranslationBundle } from '@jupyterlab/translation';
import { FormComponent, ReactWidget } from '@jupyterlab/ui-components';
import { ReadonlyJSONObject } from '@lumino/coreutils';
import * as React from 'react';
import { formSchema, inFormWords, requestOf } from '../model/profiles';
import { IClusterRequest, IJSONSchema, IProfiles } from '../tokens';

type FormProps = Parameters<typeof FormComponent>[0];

/** What is filled in is checked by the server, whose messages are for people. */
const VALIDATOR = {
  isValid: () => true,
  toErrorList: () => [],
  validateFormData: () => ({ errors: [], errorSchema: {} }),
  rawValidation: () => ({ errors: [] })
} as unknown as FormProps['validator'];

/** Why a cluster can't be had as it was asked for, and at which field; at none if that isn't known. */
export interface IRefusal {
  message: string;
  field?: string;
}

interface IFieldProps {
  id: string;
  label?: string;
  description?: unknown;
  schema: { type?: unknown; description?: string };
  children: React.ReactNode;
}

/** What is said at which field. */
const Refusal = React.createContext({ id: '', words: '' });

/** A field with a label of its own; JupyterLab's template has a headline, which says nothing to a screen reader. */
function Field(props: IFieldProps): JSX.Element {
  const refusal = React.useContext(Refusal);
  if (props.schema.type === 'object') {
    return <>{props.children}</>;
  }
  const isRefused = refusal.id === props.id;
  const isBox = props.schema.type === 'boolean'; // has its label and its description beside it
  return (
    <div
      className={
        'gl-Form-field' +
        (isBox ? ' gl-Form-box' : '') +
        (isRefused ? ' gl-mod-refused' : '')
      }
    >
      {!isBox && <label htmlFor={props.id}>{props.label}</label>}
      {props.children}
      {isRefused && (
        <div className="gl-Form-error" role="alert">
          {refusal.words}
        </div>
      )}
      {!isBox && props.schema.description && (
        <small>{props.schema.description}</small>
      )}
    </div>
  );
}

const TEMPLATES = { FieldTemplate: Field } as unknown as FormProps['templates'];

export class NewClusterForm extends ReactWidget {
  /**
   * @param initial - What the fields hold at first.
   * @param _refusal - Why the last try failed, if there was one.
   */
  constructor(
    private readonly _trans: TranslationBundle,
    private readonly _profiles: IProfiles,
    initial: IClusterRequest = {},
    private _refusal: IRefusal | null = null
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

  /** Say why the cluster can't be had, where that belongs; what is filled in stays. */
  refuse(refusal: IRefusal | null): void {
    this._refusal = refusal;
    this.update();
    const field = refusal === null ? '' : this._fieldOf(refusal);
    this.node.querySelector<HTMLElement>(`[id="gl-new_${field}"]`)?.focus();
  }

  protected render(): JSX.Element {
    const refusal = this._refusal;
    const field = refusal === null ? '' : this._fieldOf(refusal);
    const words =
      refusal === null ? '' : inFormWords(refusal.message, field, this._schema);
    return (
      <Refusal.Provider value={{ id: field && `gl-new_${field}`, words }}>
        {refusal !== null && field === '' && (
          <pre className="gl-Form-error" role="alert">
            {words}
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
      </Refusal.Provider>
    );
  }

  /** The field of this form that a refusal is about; '' if it is about none, or about one that isn't here. */
  private _fieldOf({ field = '' }: IRefusal): string {
    return field in (this._schema.properties ?? {}) ? field : '';
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
      minimum: trans.__('as many as “Workers” says'),
      maximum: trans.__('as many as “Workers” says'),
      idle_timeout: trans.__('never, or such as 30 min'),
      kernel_name: trans.__('that of the default kernel')
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

export interface INewClusterOptions {
  trans: TranslationBundle;
  profiles: IProfiles;
  /** What the fields hold at first, and why that has failed. */
  initial?: IClusterRequest;
  refusal?: IRefusal | null;
  /** Start it: resolves with null when there is nothing more to ask, else with what to change. */
  start: (request: IClusterRequest) => Promise<IRefusal | null>;
  /** The person doesn't want any more what is being started. */
  giveUp: () => void;
}

/** The dialog with the form. It stays until the cluster starts, or the person gives up: what was filled in is never lost. */
export class NewClusterDialog extends Dialog<IClusterRequest> {
  constructor(private readonly _options: INewClusterOptions) {
    const { trans, profiles, initial = {}, refusal = null } = _options;
    const form = new NewClusterForm(trans, profiles, initial, refusal);
    super({
      title: trans.__('New cluster'),
      body: form,
      focusNodeSelector: '.gl-Form input',
      buttons: [
        Dialog.cancelButton({ label: trans.__('Cancel') }),
        Dialog.okButton({ label: trans.__('Start') })
      ]
    });
    this.addClass('gl-NewCluster');
    this._form = form;
  }

  /** A button was pressed, or Enter. While a cluster is being started, to start is no longer offered. */
  resolve(index: number = START_BUTTON): void {
    if (index !== START_BUTTON) {
      this.reject();
    } else if (!this._isStarting) {
      void this._start();
    }
  }

  reject(): void {
    if (this._isStarting) {
      this._options.giveUp();
    }
    super.reject();
  }

  private async _start(): Promise<void> {
    this._setStarting(true);
    this._form.refuse(null);
    const refusal = await this._options.start(this._form.getValue());
    if (this.isDisposed) {
      return;
    }
    this._setStarting(false);
    if (refusal === null) {
      super.resolve(START_BUTTON);
    } else {
      this._form.refuse(refusal);
    }
  }

  private _setStarting(isStarting: boolean): void {
    this._isStarting = isStarting;
    const { trans } = this._options;
    const button = this.node.querySelector('.jp-Dialog-button.jp-mod-accept');
    button?.setAttribute('aria-disabled', String(isStarting));
    const label = button?.querySelector('.jp-Dialog-buttonLabel');
    if (label) {
      label.textContent = isStarting
        ? trans.__('Starting…')
        : trans.__('Start');
    }
  }

  private readonly _form: NewClusterForm;
  private _isStarting = false;
}

const START_BUTTON = 1;
