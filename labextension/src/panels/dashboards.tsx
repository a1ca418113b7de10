/**
 * The section of dashboards: pages in groups, searchable, with favourites and named layouts.
 */
import { TranslationBundle } from '@jupyterlab/translation';
import { caretDownIcon, closeIcon, LabIcon } from '@jupyterlab/ui-components';
import { Message } from '@lumino/messaging';
import * as React from 'react';
import { starIcon, starOutlineIcon } from '../icons';
import { ILayout } from '../model/layouts';
import { GroupId, grouped } from '../model/pages';
import { ICluster, IClusters, IPage, IPages, IStateStream } from '../tokens';
import { DashboardsOverhead } from './meters';
import {
  Hint,
  IconButton,
  IChanging,
  SectionWidget,
  useTrans
} from './section';

/** What a person has chosen; kept in the settings. */
export interface IPreferences extends IChanging {
  readonly favourites: readonly string[];
  readonly layouts: readonly ILayout[];
  readonly followsActive: boolean;
}

export interface IDashboardsOptions {
  trans: TranslationBundle;
  stream: IStateStream;
  clusters: IClusters;
  pages: IPages;
  preferences: IPreferences;
  /** A page is likely to be opened soon: a cluster has its pages listed here, or the pointer or the keyboard has come to one. */
  onApproach: () => void;
  onOpen: (page: string) => void;
  onDrag: (event: PointerEvent, page: IPage) => void;
  onToggleFavourite: (page: string) => void;
  onOpenLayout: (name: string) => void;
  onDeleteLayout: (name: string) => void;
}

export class DashboardsSection extends SectionWidget {
  constructor(private readonly _options: IDashboardsOptions) {
    super(_options.trans, _options.stream.clock, [
      _options.stream,
      _options.clusters,
      _options.pages,
      _options.preferences
    ]);
    this.addClass('gl-DashboardList');
  }

  protected draw(): JSX.Element {
    const { stream, clusters, pages, preferences } = this._options;
    const { active } = clusters;
    const cost = stream.state.dashboards;
    if (stream.isMissing) {
      return <></>; // the panel says so
    }
    const groups = grouped(pages.all, preferences.favourites, this._search);
    return (
      <>
        <Of active={active} follows={preferences.followsActive} />
        {cost && <DashboardsOverhead cost={cost} />}
        <div className="gl-Search">
          <input
            type="search"
            className="jp-mod-styled"
            placeholder={this.trans.__('Search dashboards')}
            aria-label={this.trans.__('Search dashboards')}
            value={this._search}
            onChange={event => {
              this._search = event.target.value;
              this.update();
            }}
          />
        </div>
        {groups.map(group => (
          <PageGroup
            key={group.id}
            id={group.id}
            pages={group.pages}
            isClosed={this._closed.has(group.id) && !this._search}
            hasCluster={active !== null}
            options={this._options}
            onToggle={() => this._toggle(group.id)}
          />
        ))}
        {this._search && groups.length === 0 && (
          <Hint>{this.trans.__('No dashboard is called so.')}</Hint>
        )}
        {!this._search && (
          <Layouts options={this._options} hasCluster={active !== null} />
        )}
      </>
    );
  }

  /** The first page of a cluster shall not wait for the dashboards process: it starts while a person looks for the page. */
  protected onUpdateRequest(message: Message): void {
    super.onUpdateRequest(message);
    const id = this._options.clusters.active?.id ?? null;
    if (id !== null && id !== this._announced && this.isVisible) {
      this._announced = id;
      this._options.onApproach();
    }
  }

  private _toggle(group: GroupId): void {
    if (!this._closed.delete(group)) {
      this._closed.add(group);
    }
    this.update();
  }

  private _search = '';
  /** The cluster that was last said to be likely to have a page opened. */
  private _announced: string | null = null;
  private readonly _closed = new Set<GroupId>();
}

function Of(props: { active: ICluster | null; follows: boolean }): JSX.Element {
  const trans = useTrans();
  const { active, follows } = props;
  if (active === null) {
    return <Hint>{trans.__('Start a cluster to see its dashboards.')}</Hint>;
  }
  return (
    <p className="gl-Dashboards-of" title={active.name}>
      {follows ? trans.__('of the active cluster, now') : trans.__('of')}{' '}
      <b>{active.name}</b>
    </p>
  );
}

interface IPageGroupProps {
  id: GroupId;
  pages: IPage[];
  isClosed: boolean;
  hasCluster: boolean;
  options: IDashboardsOptions;
  onToggle: () => void;
}

function PageGroup(props: IPageGroupProps): JSX.Element {
  const trans = useTrans();
  const { id, pages, isClosed, options } = props;
  const title = titleOf(trans, id);
  return (
    <section className="gl-Group" data-group={id}>
      <h3 className="gl-Group-title">
        <button aria-expanded={!isClosed} onClick={props.onToggle}>
          <caretDownIcon.react tag="span" className="gl-Group-caret" />
          {title}
        </button>
      </h3>
      {!isClosed && (
        <ul role="list" className="gl-Pages" aria-label={title}>
          {pages.map(page => (
            <PageRow
              key={page.id}
              page={page}
              isFavourite={options.preferences.favourites.includes(page.id)}
              hasCluster={props.hasCluster}
              options={options}
            />
          ))}
        </ul>
      )}
    </section>
  );
}

function PageRow(props: {
  page: IPage;
  isFavourite: boolean;
  hasCluster: boolean;
  options: IDashboardsOptions;
}): JSX.Element {
  const trans = useTrans();
  const { page, isFavourite, hasCluster, options } = props;
  const star: LabIcon = isFavourite ? starIcon : starOutlineIcon;
  return (
    <li className="gl-PageRow">
      <button
        className="gl-Page"
        data-page={page.id}
        title={page.description}
        disabled={!hasCluster}
        onPointerEnter={hasCluster ? options.onApproach : undefined}
        onFocus={options.onApproach}
        onPointerDown={event => options.onDrag(event.nativeEvent, page)}
        onClick={() => options.onOpen(page.id)}
      >
        <span className="gl-Page-title">{page.title}</span>
        <span className="gl-Page-description">{page.description}</span>
      </button>
      <IconButton
        icon={star}
        label={
          isFavourite
            ? trans.__('Remove %1 from the favourites', page.title)
            : trans.__('Add %1 to the favourites', page.title)
        }
        action="favourite"
        isPressed={isFavourite}
        onClick={() => options.onToggleFavourite(page.id)}
      />
    </li>
  );
}

function Layouts(props: {
  options: IDashboardsOptions;
  hasCluster: boolean;
}): JSX.Element {
  const trans = useTrans();
  const { options, hasCluster } = props;
  return (
    <section className="gl-Group" data-group="layouts">
      <h3 className="gl-Group-title">
        <span>{trans.__('Layouts')}</span>
      </h3>
      <ul role="list" className="gl-Pages" aria-label={trans.__('Layouts')}>
        {options.preferences.layouts.map(({ name }) => (
          <li key={name} className="gl-PageRow">
            <button
              className="gl-Page"
              data-layout={name}
              title={trans.__('Open the dashboards of the layout %1', name)}
              disabled={!hasCluster}
              onPointerEnter={hasCluster ? options.onApproach : undefined}
              onFocus={options.onApproach}
              onClick={() => options.onOpenLayout(name)}
            >
              <span className="gl-Page-title">{name}</span>
            </button>
            <IconButton
              icon={closeIcon}
              label={trans.__('Delete the layout %1', name)}
              action="delete-layout"
              onClick={() => options.onDeleteLayout(name)}
            />
          </li>
        ))}
      </ul>
    </section>
  );
}

function titleOf(trans: TranslationBundle, group: GroupId): string {
  return {
    favourites: trans.__('Favourites'),
    overview: trans.__('Overview'),
    tasks: trans.__('Tasks'),
    workers: trans.__('Workers'),
    memory: trans.__('Memory'),
    gpu: trans.__('GPU'),
    more: trans.__('More')
  }[group];
}
