/**
 * Menus below the buttons of cards and rows.
 */
import { CommandRegistry } from '@lumino/commands';
import { ReadonlyJSONObject } from '@lumino/coreutils';
import { Menu } from '@lumino/widgets';

export interface IMenuItem {
  command: string;
  args: ReadonlyJSONObject;
}

/** Offer commands below a button; those that aren't there, as their plugin is switched off, are left out. */
export function openMenu(
  commands: CommandRegistry,
  items: readonly IMenuItem[],
  x: number,
  y: number
): void {
  const menu = new Menu({ commands });
  items
    .filter(({ command }) => commands.hasCommand(command))
    .forEach(item => menu.addItem(item));
  // The command is executed after the menu closes.
  menu.aboutToClose.connect(() => setTimeout(() => menu.dispose(), 0));
  menu.open(x, y);
}
