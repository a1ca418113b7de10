/**
 * The side panel: an accordion of sections, and above it what is wrong with the connection.
 */
import { IMovableSectionSource, ISectionEntry } from '@jupyterlab/apputils';
import { ITranslator, TranslationBundle } from '@jupyterlab/translation';
import { PanelWithToolbar, SidePanel } from '@jupyterlab/ui-components';
import { ISignal, Signal } from '@lumino/signaling';
import { AccordionPanel, Widget } from '@lumino/widgets';
import { glassloomIcon } from '../icons';
import { IGlassloomPanel, ISection, IStateStream } from '../tokens';

export interface IPanelOptions {
  stream: IStateStream;
  translator?: ITranslator;
  trans: TranslationBundle;
}

export class GlassloomPanel
  extends SidePanel
  implements IGlassloomPanel, IMovableSectionSource
{
  constructor(private readonly _options: IPanelOptions) {
    super({ translator: _options.translator });
    const { trans, stream } = _options;
    this.id = 'glassloom-panel';
    this.addClass('gl-Panel');
    this.title.icon = glassloomIcon;
    this.title.caption = trans.__('Glassloom: clusters, dashboards and runs');
    this.node.setAttribute('role', 'region');
    this.node.setAttribute('aria-label', trans.__('Glassloom'));
    this._problem = new Widget();
    this._problem.addClass('gl-Problem');
    this._problem.node.setAttribute('role', 'status');
    this.header.addWidget(this._problem);
    stream.changed.connect(this._onStream, this);
    this._onStream();
  }

  get accordionPanel(): AccordionPanel {
    return this.content as AccordionPanel;
  }

  get sectionAdded(): ISignal<this, ISectionEntry> {
    return this._sectionAdded;
  }

  dispose(): void {
    this._options.stream.changed.disconnect(this._onStream, this);
    super.dispose();
  }

  addSection(section: ISection): void {
    const panel = new PanelWithToolbar({ toolbar: section.toolbar });
    panel.id = section.id;
    panel.addClass('gl-Section');
    panel.title.label = section.title;
    panel.addWidget(section.widget);
    this._sections.push({ ...section, panel });
    this._sections.sort((one, other) => one.rank - other.rank);
    this.reinsertSection(panel);
    this.accordionPanel.setRelativeSizes(
      this._sections.map(({ size }) => size ?? 1)
    );
    this._sectionAdded.emit(this._entryOf(section.id, panel));
  }

  getSections(): ISectionEntry[] {
    return this._sections
      .filter(({ panel }) => panel.parent === this.content)
      .map(({ id, panel }) => this._entryOf(id, panel));
  }

  removeSectionById(id: string): Widget | null {
    const section = this._sections.find(each => each.id === id);
    if (section?.panel.parent !== this.content) {
      return null;
    }
    section.panel.parent = null;
    return section.panel;
  }

  reinsertSection(widget: Widget): void {
    const here = this._sections
      .filter(({ panel }) => panel === widget || panel.parent === this.content)
      .map(({ panel }) => panel);
    const index = here.findIndex(panel => panel === widget);
    if (index >= 0) {
      this.insertWidget(index, here[index]);
      this._putInOrder();
    }
  }

  /** Lumino puts new nodes last, wherever they are seen: the keyboard goes by the order of nodes. */
  private _putInOrder(): void {
    const { titles, handles, widgets, node } = this.accordionPanel;
    widgets.forEach((widget, index) => {
      node.append(titles[index], widget.node, handles[index]);
    });
  }

  private _entryOf(id: string, panel: PanelWithToolbar): ISectionEntry {
    const index = this.content.widgets.indexOf(panel);
    return {
      id,
      widget: panel,
      titleNode: this.accordionPanel.titles[index]
    };
  }

  /** Written only when it changes: screen readers read it each time. */
  private _onStream(): void {
    const { problem } = this._options.stream;
    if (this._problem.node.textContent !== problem) {
      this._problem.node.textContent = problem;
    }
    this.header.setHidden(problem === '');
  }

  private readonly _problem: Widget;
  private readonly _sections: (ISection & { panel: PanelWithToolbar })[] = [];
  private readonly _sectionAdded = new Signal<this, ISectionEntry>(this);
}
