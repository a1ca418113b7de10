/**
 * The side panel. It is shown by itself once, so that a newcomer finds it; from then on the layout is the person's.
 */
import {
  ILayoutRestorer,
  JupyterFrontEnd,
  JupyterFrontEndPlugin
} from '@jupyterlab/application';
import { ICommandPalette, IMovableSectionRegistry } from '@jupyterlab/apputils';
import { ISettingRegistry } from '@jupyterlab/settingregistry';
import { IStateDB } from '@jupyterlab/statedb';
import { ITranslator, TranslationBundle } from '@jupyterlab/translation';
import { CommandIDs, PALETTE_CATEGORY } from '../commands';
import { GlassloomPanel } from '../panels/panel';
import { IGlassloomPanel, IStateStream } from '../tokens';
import { languageOf } from './language';
import { loadSettings } from './settings';

const PLUGIN_ID = 'glassloom:panel';
const SHOWN_KEY = 'glassloom:panel-shown';

export const panelPlugin: JupyterFrontEndPlugin<IGlassloomPanel> = {
  id: PLUGIN_ID,
  description: 'The side panel; its sections are plugins of their own.',
  autoStart: true,
  requires: [IStateStream],
  optional: [
    ITranslator,
    ICommandPalette,
    ILayoutRestorer,
    ISettingRegistry,
    IStateDB,
    IMovableSectionRegistry
  ],
  provides: IGlassloomPanel,
  activate: (
    app: JupyterFrontEnd,
    stream: IStateStream,
    translator: ITranslator | null,
    palette: ICommandPalette | null,
    restorer: ILayoutRestorer | null,
    settings: ISettingRegistry | null,
    state: IStateDB | null,
    movable: IMovableSectionRegistry | null
  ): IGlassloomPanel => {
    const trans = languageOf(translator);
    const panel = new GlassloomPanel({
      stream,
      translator: translator ?? undefined,
      trans
    });
    app.shell.add(panel, 'left', { rank: 300, type: 'Glassloom' });
    restorer?.add(panel, panel.id);
    movable?.registerSource(panel.id, trans.__('Glassloom'), panel);

    app.commands.addCommand(CommandIDs.showPanel, {
      label: trans.__('Show Glassloom Panel'),
      describedBy: { args: { type: 'object', properties: {} } },
      execute: () => app.shell.activateById(panel.id)
    });
    palette?.addItem({
      command: CommandIDs.showPanel,
      category: PALETTE_CATEGORY
    });

    void app.restored.then(async () => {
      if (await isFirstTime(trans, settings, state)) {
        await app.commands.execute(CommandIDs.showPanel);
      }
    });
    return panel;
  }
};

async function isFirstTime(
  trans: TranslationBundle,
  settings: ISettingRegistry | null,
  state: IStateDB | null
): Promise<boolean> {
  if (settings === null || state === null) {
    return false;
  }
  let isWanted = true;
  await loadSettings(settings, PLUGIN_ID, trans, ({ showOnFirstStart }) => {
    isWanted = showOnFirstStart !== false;
  });
  if (!isWanted || (await state.fetch(SHOWN_KEY))) {
    return false;
  }
  await state.save(SHOWN_KEY, true);
  return true;
}
