/**
 * What a person has chosen of dashboards: favourites and layouts, kept in JupyterLab's settings.
 */
import { ISettingRegistry } from '@jupyterlab/settingregistry';
import { ReadonlyPartialJSONValue } from '@lumino/coreutils';
import { ILayout, layoutsOf } from './layouts';
import { Model } from './model';

type Composite = ISettingRegistry.ISettings['composite'];

export class Preferences extends Model {
  /** @param load - Reads the settings, again whenever they change; resolves with null where nothing can be kept. */
  constructor(
    load: (
      read: (composite: Composite) => void
    ) => Promise<ISettingRegistry.ISettings | null>
  ) {
    super();
    void load(composite => this._read(composite)).then(settings => {
      this._settings = settings;
    });
  }

  get favourites(): readonly string[] {
    return this._favourites;
  }

  get layouts(): readonly ILayout[] {
    return this._layouts;
  }

  /** Whether new panes show whatever cluster is the active one. */
  get followsActive(): boolean {
    return this._followsActive;
  }

  async toggleFavourite(page: string): Promise<void> {
    const others = this._favourites.filter(each => each !== page);
    this._favourites =
      others.length < this._favourites.length ? others : [...others, page];
    await this._save('favourites', this._favourites);
  }

  /** Keep a layout; one of the same name is replaced. */
  async saveLayout(layout: ILayout): Promise<void> {
    const others = this._layouts.filter(({ name }) => name !== layout.name);
    this._layouts = [...others, layout];
    await this._save('layouts', this._layouts);
  }

  async deleteLayout(name: string): Promise<void> {
    this._layouts = this._layouts.filter(layout => layout.name !== name);
    await this._save('layouts', this._layouts);
  }

  async setFollowsActive(follows: boolean): Promise<void> {
    this._followsActive = follows;
    await this._save('followActive', follows);
  }

  private async _save(
    name: string,
    value: boolean | readonly string[] | readonly ILayout[]
  ): Promise<void> {
    this.emit();
    await this._settings?.set(name, value as ReadonlyPartialJSONValue as never);
  }

  private _read({ favourites, layouts, followActive }: Composite): void {
    this._favourites = (Array.isArray(favourites) ? favourites : []).filter(
      page => typeof page === 'string'
    ) as string[];
    this._layouts = layoutsOf(layouts);
    this._followsActive = followActive === true;
    this.emit();
  }

  private _settings: ISettingRegistry.ISettings | null = null;
  private _favourites: readonly string[] = [];
  private _layouts: readonly ILayout[] = [];
  private _followsActive = false;
}
