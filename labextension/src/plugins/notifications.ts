/**
 * Tells a person who looks elsewhere what happens: a worker died, memory is short, results go to disk, a run has ended.
 */
import {
  JupyterFrontEnd,
  JupyterFrontEndPlugin
} from '@jupyterlab/application';
import { Notification } from '@jupyterlab/apputils';
import { ISettingRegistry } from '@jupyterlab/settingregistry';
import {
  ITranslator,
  nullTranslator,
  TranslationBundle
} from '@jupyterlab/translation';
import { CommandRegistry } from '@lumino/commands';
import { CommandIDs } from '../commands';
import { AlertFinder, AlertKind, IAlert } from '../model/alerts';
import { formatBytes, formatDuration, formatShare } from '../model/format';
import { DOMAIN } from '../panels/section';
import { ICluster, INotebooks, IClusters, IRun } from '../tokens';

const PLUGIN_ID = 'glassloom:notifications';

export const notificationsPlugin: JupyterFrontEndPlugin<void> = {
  id: PLUGIN_ID,
  description: 'Notifies of what happens to clusters.',
  autoStart: true,
  requires: [IClusters],
  optional: [ITranslator, INotebooks, ISettingRegistry],
  activate: (
    app: JupyterFrontEnd,
    clusters: IClusters,
    translator: ITranslator | null,
    notebooks: INotebooks | null,
    settings: ISettingRegistry | null
  ): void => {
    const trans = (translator ?? nullTranslator).load(DOMAIN);
    const finder = new AlertFinder();
    let wanted: Partial<Record<AlertKind, unknown>> = {};
    void settings?.load(PLUGIN_ID).then(loaded => {
      const read = (): void => {
        wanted = loaded.composite;
      };
      loaded.changed.connect(read);
      read();
    });
    clusters.changed.connect(() => {
      for (const alert of finder.find(clusters.all)) {
        const isSeen = alert.kind === 'runEnded' && isWatched(alert, notebooks);
        if (wanted[alert.kind] !== false && !isSeen) {
          tell(trans, app.commands, alert);
        }
      }
    });
  }
};

/** Whether the person looks at the notebook whose run has ended. */
function isWatched(
  { run, cluster }: IAlert,
  notebooks: INotebooks | null
): boolean {
  const path = run?.notebook ?? cluster.notebook;
  return !document.hidden && path !== null && notebooks?.current === path;
}

function tell(
  trans: TranslationBundle,
  commands: CommandRegistry,
  alert: IAlert
): void {
  const { cluster, run } = alert;
  const action = (label: string, page: string): Notification.IAction => ({
    label,
    caption: trans.__('Open a dashboard of %1', cluster.name),
    callback: () =>
      void commands.execute(CommandIDs.openDashboard, {
        cluster: cluster.id,
        page
      })
  });
  switch (alert.kind) {
    case 'workerDied':
      Notification.warning(
        trans._n(
          'A worker of %2 has died.',
          '%1 workers of %2 have died.',
          alert.count ?? 1,
          cluster.name
        ),
        { actions: [action(trans.__('Show the log'), 'logs')] }
      );
      return;
    case 'memoryNearLimit':
      Notification.warning(memoryWords(trans, cluster), {
        actions: [action(trans.__('Show the memory'), 'memory')]
      });
      return;
    case 'spilling':
      Notification.info(
        trans.__(
          '%1 puts results on disk: %2 so far. Tasks that need them wait for the disk.',
          cluster.name,
          formatBytes(cluster.spilled_bytes)
        ),
        { actions: [action(trans.__('Show the memory'), 'memory')] }
      );
      return;
    case 'runEnded':
      if (run !== undefined) {
        tellRun(trans, cluster, run, action);
      }
  }
}

function tellRun(
  trans: TranslationBundle,
  { name }: ICluster,
  run: IRun,
  action: (label: string, page: string) => Notification.IAction
): void {
  const label = run.label || run.kind;
  const took = formatDuration((run.ended_at ?? 0) - run.started_at);
  if (run.outcome === 'failed') {
    Notification.error(
      trans.__('%1 has failed on %2 after %3.', label, name, took),
      { actions: [action(trans.__('Show the errors'), 'logs')] }
    );
  } else {
    Notification.success(
      trans.__('%1 has finished on %2 after %3.', label, name, took),
      { actions: [action(trans.__('Show the run'), 'runs')] }
    );
  }
}

function memoryWords(
  trans: TranslationBundle,
  { name, memory_bytes, memory_limit_bytes }: ICluster
): string {
  return trans.__(
    'The memory of %1 is nearly full: %2.',
    name,
    formatShare(memory_bytes, memory_limit_bytes ?? memory_bytes)
  );
}
