/**
 * A cluster's log in a dialog, the newest lines in view.
 */
import { Clipboard, Dialog } from '@jupyterlab/apputils';
import { TranslationBundle } from '@jupyterlab/translation';
import { Message } from '@lumino/messaging';
import { Widget } from '@lumino/widgets';

class LogView extends Widget {
  constructor(private readonly _lines: string[]) {
    super({ node: document.createElement('pre') });
    this.addClass('gl-Log');
    this.node.tabIndex = 0; // so that the keyboard scrolls it
    this.node.textContent = _lines.join('\n');
  }

  get text(): string {
    return this._lines.join('\n');
  }

  protected onAfterAttach(message: Message): void {
    this.node.scrollTop = this.node.scrollHeight;
  }
}

/** Show a log until the person closes it. That of a cluster that has ended, to which nothing is added, can't be refreshed. */
export async function showLog(
  trans: TranslationBundle,
  name: string,
  load: () => Promise<string[]>,
  hasEnded = false
): Promise<void> {
  for (;;) {
    let lines: string[];
    try {
      lines = await load();
    } catch (error) {
      lines = [error instanceof Error ? error.message : String(error)];
    }
    const body = new LogView(
      lines.length > 0 ? lines : [trans.__('The log is empty.')]
    );
    // Not `accept`: such buttons look like the one that is meant.
    const copy = Dialog.createButton({
      label: trans.__('Copy'),
      accept: false,
      actions: ['copy']
    });
    const refresh = Dialog.createButton({
      label: trans.__('Refresh'),
      accept: false,
      actions: ['refresh']
    });
    const close = Dialog.okButton({ label: trans.__('Close') });
    const buttons = hasEnded ? [copy, close] : [copy, refresh, close];
    const dialog = new Dialog({
      title: trans.__('Log of %1', name),
      body,
      hasClose: true,
      buttons,
      defaultButton: buttons.indexOf(close)
    });
    dialog.addClass('gl-WideDialog');
    const { actions } = (await dialog.launch()).button;
    if (actions.includes('copy')) {
      Clipboard.copyToSystem(body.text);
    }
    if (!actions.includes('refresh')) {
      return;
    }
  }
}
