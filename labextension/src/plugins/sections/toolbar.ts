/**
 * The toolbar in a section's title: what its schema lists, which settings can change.
 */
import {
  createToolbarFactory,
  IToolbarWidgetRegistry,
  setToolbar
} from '@jupyterlab/apputils';
import { ISettingRegistry } from '@jupyterlab/settingregistry';
import { ITranslator, nullTranslator } from '@jupyterlab/translation';
import { CommandToolbarButton, Toolbar } from '@jupyterlab/ui-components';
import { CommandRegistry } from '@lumino/commands';
import { Widget } from '@lumino/widgets';

export interface IToolbarOptions {
  commands: CommandRegistry;
  translator: ITranslator | null;
  toolbars: IToolbarWidgetRegistry | null;
  settings: ISettingRegistry | null;
  /** Of the plugin whose schema lists the items, under `factory`. */
  pluginId: string;
  factory: string;
  /** The commands that are shown where there is no registry. */
  fallback: string[];
}

/** Return the toolbar of a section that shows `content`. */
export function makeToolbar(
  content: Widget,
  options: IToolbarOptions
): Toolbar {
  const toolbar = new Toolbar();
  const { toolbars, settings, commands } = options;
  if (toolbars === null || settings === null) {
    for (const id of options.fallback) {
      toolbar.addItem(id, new CommandToolbarButton({ commands, id }));
    }
    return toolbar;
  }
  setToolbar(
    content,
    createToolbarFactory(
      toolbars,
      settings,
      options.factory,
      options.pluginId,
      options.translator ?? nullTranslator
    ),
    toolbar
  );
  return toolbar;
}
