/**
 * The commands that save how the dashboards stand and put them so again.
 */
import { ILabShell, JupyterFrontEnd } from '@jupyterlab/application';
import { InputDialog, Notification } from '@jupyterlab/apputils';
import { TranslationBundle } from '@jupyterlab/translation';
import { Widget } from '@lumino/widgets';
import { CommandIDs } from '../commands';
import { arrangementOf, DockArea, stepsOf } from '../model/layouts';
import { Preferences } from '../model/preferences';
import { DashboardPane } from '../panels/pane';
import { IPages, PaneTarget } from '../tokens';
import { tellFailure } from './endings';
import { IWhich, Panes } from './panes';

export interface ILayoutContext {
  app: JupyterFrontEnd;
  labShell: ILabShell | null;
  trans: TranslationBundle;
  panes: Panes;
  pages: IPages;
  preferences: Preferences;
  activeTarget: () => PaneTarget | null;
}

export function addLayoutCommands(context: ILayoutContext): void {
  const { app, labShell, trans, panes } = context;
  const hasPanes = (): boolean => labShell !== null && panes.tracker.size > 0;
  app.commands.addCommand(CommandIDs.openLayout, {
    label: args =>
      typeof args.name === 'string'
        ? trans.__('Open Layout: %1', args.name)
        : trans.__('Open Layout…'),
    describedBy: {
      args: {
        type: 'object',
        properties: {
          name: { type: 'string', description: 'Name of the layout.' }
        },
        required: ['name']
      }
    },
    execute: args => openLayout(context, args.name)
  });
  app.commands.addCommand(CommandIDs.saveLayout, {
    label: trans.__('Save the Layout of the Dashboards…'),
    caption: trans.__('Save how the dashboards stand, under a name'),
    isEnabled: hasPanes,
    describedBy: { args: { type: 'object', properties: {} } },
    execute: () => saveLayout(context)
  });
  app.commands.addCommand(CommandIDs.closeDashboards, {
    label: trans.__('Close All Dashboards'),
    isEnabled: hasPanes,
    describedBy: { args: { type: 'object', properties: {} } },
    execute: () => {
      const all: DashboardPane[] = [];
      panes.tracker.forEach(pane => all.push(pane));
      all.forEach(pane => pane.close());
    }
  });
  const notify = (): void => {
    app.commands.notifyCommandChanged(CommandIDs.saveLayout);
    app.commands.notifyCommandChanged(CommandIDs.closeDashboards);
  };
  panes.tracker.widgetAdded.connect((_, pane) => {
    notify();
    pane.disposed.connect(notify);
  });
}

/** Open the pages of a layout for the active cluster. Pages that are open stay where they are. */
function openLayout(
  {
    app,
    labShell,
    trans,
    panes,
    pages,
    preferences,
    activeTarget
  }: ILayoutContext,
  name: unknown
): Promise<void> | void {
  const layout = preferences.layouts.find(each => each.name === name);
  const target = activeTarget();
  if (layout === undefined) {
    const names = preferences.layouts.map(each => each.name).join(', ');
    tellFailure(
      trans.__('There is no layout “%1”; there are: %2', String(name), names)
    );
    return;
  }
  if (target === null) {
    return app.commands.execute(CommandIDs.openDashboard); // says that there is no cluster
  }
  const steps = stepsOf(layout.arrangement);
  const whichOf = (page: string): IWhich => ({
    target,
    page,
    name: panes.nameOf(target) ?? '',
    pageTitle: pages.find(page)?.title ?? page
  });
  if (labShell === null) {
    panes.openTabs(
      steps.map(({ page }) => whichOf(page)),
      trans.__(
        'There is no place for a layout here: its dashboards open in browser tabs.'
      )
    );
    return;
  }
  for (const { page, mode, ref } of steps) {
    panes.open(whichOf(page), {
      mode,
      ref: ref === null ? null : DashboardPane.idOf(target, ref)
    });
  }
}

async function saveLayout({
  labShell,
  trans,
  preferences
}: ILayoutContext): Promise<void> {
  const dock = labShell?.saveLayout().mainArea?.dock?.main;
  const arrangement =
    dock &&
    arrangementOf(dock as DockArea<Widget>, widget =>
      widget instanceof DashboardPane ? widget.page : null
    );
  if (!arrangement) {
    Notification.info(trans.__('No dashboard is open.'), {
      autoClose: 5000
    });
    return;
  }
  const { button, value } = await InputDialog.getText({
    title: trans.__('Save the layout of the dashboards'),
    label: trans.__('Name; a layout of the same name is replaced'),
    okLabel: trans.__('Save')
  });
  const name = value?.trim() ?? '';
  if (button.accept && name !== '') {
    await preferences.saveLayout({ name, arrangement });
  }
}
