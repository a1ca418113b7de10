/**
 * The side panel. It is shown by itself once, so that a newcomer finds it; from then on the layout is the person's.
 */
import {
  ILayoutRestorer,
  JupyterFrontEnd,
  JupyterFrontEndPlugin
} from '@jupyterlab/application';
import { ICommandPalette } from '@jupyterlab/apputils';
import { ISettingRegistry } from '@jupyterlab/settingregistry';
import { IStateDB } from '@jupyterlab/statedb';
import { CommandIDs, PALETTE_CATEGORY } from '../commands';
import { GlassloomPanel } from '../panels/panel';
import { GlassloomAPI } from '../request';
import { IClusterModel } from '../tokens';

const PLUGIN_ID = 'glassloom:panel';
const SHOWN_KEY = 'glassloom:panel-shown';

export const panelPlugin: JupyterFrontEndPlugin<void> = {
  id: PLUGIN_ID,
  description: 'The side panel of clusters and dashboards.',
  autoStart: true,
  requires: [IClusterModel],
  optional: [ICommandPalette, ILayoutRestorer, ISettingRegistry, IStateDB],
  activate: (
    app: JupyterFrontEnd,
    model: IClusterModel,
    palette: ICommandPalette | null,
    restorer: ILayoutRestorer | null,
    settings: ISettingRegistry | null,
    state: IStateDB | null
  ): void => {
    const api = new GlassloomAPI(app.serviceManager.serverSettings);
    const panel = new GlassloomPanel(model, app.commands, () => {
      void api.probeDashboards();
    });
    app.shell.add(panel, 'left', { rank: 300, type: 'Glassloom' });
    restorer?.add(panel, panel.id);

    app.commands.addCommand(CommandIDs.showPanel, {
      label: 'Show Glassloom Panel',
      describedBy: { args: { type: 'object', properties: {} } },
      execute: () => app.shell.activateById(panel.id)
    });
    palette?.addItem({
      command: CommandIDs.showPanel,
      category: PALETTE_CATEGORY
    });

    void app.restored.then(async () => {
      if (await isFirstTime(settings, state)) {
        await app.commands.execute(CommandIDs.showPanel);
      }
    });
  }
};

async function isFirstTime(
  settings: ISettingRegistry | null,
  state: IStateDB | null
): Promise<boolean> {
  if (settings === null || state === null) {
    return false;
  }
  const { composite } = await settings.load(PLUGIN_ID);
  if (composite.showOnFirstStart !== true || (await state.fetch(SHOWN_KEY))) {
    return false;
  }
  await state.save(SHOWN_KEY, true);
  return true;
}
