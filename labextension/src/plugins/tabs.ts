/**
 * Opens addresses in browser tabs, and says so where the browser doesn't let us.
 */
import { Notification } from '@jupyterlab/apputils';
import { TranslationBundle } from '@jupyterlab/translation';

/** What is to be opened, and how a person calls it. */
export interface ITab {
  url: string;
  name: string;
}

/** JupyterLab's notifications have room for so many buttons. */
const MAX_ACTIONS = 3;

/** Open browser tabs; those that the browser blocks are offered again, one by one: it lets a click open one. */
export function openTabs(
  trans: TranslationBundle,
  tabs: readonly ITab[],
  why = ''
): void {
  const blocked = tabs.filter(({ url }) => !open(url));
  if (blocked.length === 0) {
    return;
  }
  const names = blocked.map(({ name }) => name).join(', ');
  const words = trans.__(
    'The browser has blocked these tabs: %1. Allow pop-ups for this site, or open them one by one.',
    names
  );
  Notification.warning([why, words].filter(Boolean).join(' '), {
    autoClose: false,
    actions: blocked.slice(0, MAX_ACTIONS).map(tab => ({
      label: trans.__('Open %1', tab.name),
      callback: () => openTabs(trans, [tab])
    }))
  });
}

/** Tell whether the browser has opened a tab, which can't reach this page. */
function open(url: string): boolean {
  const tab = window.open('', '_blank'); // with 'noopener' it wouldn't say
  if (tab === null) {
    return false;
  }
  tab.opener = null;
  tab.location.replace(url);
  return true;
}
