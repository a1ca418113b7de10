/**
 * The side panel: an accordion of clusters and dashboards.
 */
import {
  CommandToolbarButton,
  PanelWithToolbar,
  SidePanel
} from '@jupyterlab/ui-components';
import { CommandRegistry } from '@lumino/commands';
import { Message } from '@lumino/messaging';
import { AccordionPanel, Widget } from '@lumino/widgets';
import { CommandIDs } from '../commands';
import { glassloomIcon } from '../icons';
import { IClusterModel } from '../tokens';
import { ClusterList } from './clusters';
import { DashboardList } from './dashboards';

export class GlassloomPanel extends SidePanel {
  /**
   * @param warmUp - Called once, when the panel is first seen: dashboards then open without a wait.
   */
  constructor(
    model: IClusterModel,
    commands: CommandRegistry,
    private readonly _warmUp: () => void
  ) {
    super();
    this.id = 'glassloom-panel';
    this.addClass('gl-Panel');
    this.title.icon = glassloomIcon;
    this.title.caption = 'Glassloom: clusters and dashboards';
    this.node.setAttribute('role', 'region');
    this.node.setAttribute('aria-label', 'Glassloom');

    const clusters = section('Clusters', new ClusterList(model, commands));
    clusters.toolbar.addItem(
      'new',
      new CommandToolbarButton({ commands, id: CommandIDs.newCluster })
    );
    this.addWidget(clusters);
    this.addWidget(section('Dashboards', new DashboardList(model, commands)));
    (this.content as AccordionPanel).setRelativeSizes([3, 2]);
  }

  protected onAfterShow(message: Message): void {
    super.onAfterShow(message);
    if (!this._isWarm) {
      this._isWarm = true;
      this._warmUp();
    }
  }

  private _isWarm = false;
}

function section(label: string, content: Widget): PanelWithToolbar {
  const panel = new PanelWithToolbar();
  panel.addClass('gl-Section');
  panel.title.label = label;
  panel.addWidget(content);
  return panel;
}
