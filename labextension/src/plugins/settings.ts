/**
 * The settings of a plugin, from the first moment on and whenever they change. Where they can't be read the defaults count.
 */
import { Notification } from '@jupyterlab/apputils';
import { ISettingRegistry } from '@jupyterlab/settingregistry';
import { TranslationBundle } from '@jupyterlab/translation';
import { messageOf } from './endings';

type Composite = ISettingRegistry.ISettings['composite'];

/**
 * Load the settings of a plugin.
 *
 * @param read - Takes what the settings hold: once they are loaded and whenever they change; nothing, where they can't be read.
 * @returns The settings; null where there is no registry, or where they are not valid, which a person is told.
 */
export async function loadSettings(
  registry: ISettingRegistry | null,
  plugin: string,
  trans: TranslationBundle,
  read: (composite: Composite) => void
): Promise<ISettingRegistry.ISettings | null> {
  if (registry === null) {
    return null;
  }
  let settings: ISettingRegistry.ISettings;
  try {
    settings = await registry.load(plugin);
  } catch (error) {
    Notification.warning(
      trans.__(
        'The settings of %1 are not valid, its defaults are used: %2',
        plugin,
        messageOf(error)
      ),
      { autoClose: 10_000 }
    );
    read({});
    return null;
  }
  settings.changed.connect(() => read(settings.composite));
  read(settings.composite);
  return settings;
}
