/**
 * Tells a person who looks elsewhere what happens: a cluster was lost, a worker died, memory is short, results go to disk, a run has ended.
 */
import {
  JupyterFrontEnd,
  JupyterFrontEndPlugin
} from '@jupyterlab/application';
import { Notification } from '@jupyterlab/apputils';
import { ISettingRegistry } from '@jupyterlab/settingregistry';
import { ITranslator, TranslationBundle } from '@jupyterlab/translation';
import { CommandRegistry } from '@lumino/commands';
import { CommandIDs } from '../commands';
import { AlertFinder, AlertKind, IAlert, LossFinder } from '../model/alerts';
import {
  formatBytes,
  formatCount,
  formatDuration,
  formatShare
} from '../model/format';
import { showLog } from '../panels/log';
import { ICluster, INotebooks, IClusters, ILostCluster, IRun } from '../tokens';
import { languageOf } from './language';
import { loadSettings } from './settings';

const PLUGIN_ID = 'glassloom:notifications';
/** How long a notification is seen before it is only in the list of them. */
const SHOWN_MS = 10_000;
/** Workers that die within so long of each other are one piece of news. */
const TOGETHER_MS = 60_000;

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
    const trans = languageOf(translator);
    const finder = new AlertFinder();
    const losses = new LossFinder();
    const teller = new Teller(trans, app.commands, clusters);
    let wanted: Partial<Record<AlertKind | 'clusterLost', unknown>> = {};
    void loadSettings(settings, PLUGIN_ID, trans, composite => {
      wanted = composite;
    });
    clusters.changed.connect(() => {
      for (const lost of losses.find(clusters.all, clusters.lost)) {
        if (wanted.clusterLost !== false) {
          teller.tellLoss(lost);
        }
      }
      for (const alert of finder.find(clusters.all)) {
        const isSeen = alert.kind === 'runEnded' && isWatched(alert, notebooks);
        if (wanted[alert.kind] !== false && !isSeen) {
          teller.tell(alert);
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

/** What is told of the workers of one cluster that have died. */
interface INotice {
  /** Of JupyterLab's notification. */
  id: string;
  count: number;
  lastMs: number;
}

class Teller {
  constructor(
    private readonly _trans: TranslationBundle,
    private readonly _commands: CommandRegistry,
    private readonly _clusters: IClusters
  ) {}

  /** It stays until it is closed: what was computed there is gone. */
  tellLoss({ id, name, has_log }: ILostCluster): void {
    const trans = this._trans;
    const log = {
      label: trans.__('Show the log'),
      caption: trans.__('Show what %1 said last', name),
      callback: (event: MouseEvent) => {
        event.preventDefault(); // else it is gone, and with it the way to start again
        void showLog(trans, name, () => this._clusters.log(id), true);
      }
    };
    Notification.error(
      trans.__(
        'The cluster %1 was lost, and its results with it: its head process was killed or has crashed.',
        name
      ),
      {
        autoClose: false,
        actions: [
          {
            label: trans.__('Start again…'),
            caption: trans.__('Start a cluster like %1', name),
            callback: () =>
              void this._commands.execute(CommandIDs.newCluster, { lost: id })
          },
          ...(has_log ? [log] : [])
        ]
      }
    );
  }

  tell({ kind, cluster, run, count }: IAlert): void {
    const trans = this._trans;
    switch (kind) {
      case 'workerDied':
        this._tellDeaths(cluster, count ?? 1);
        return;
      case 'memoryNearLimit':
        Notification.warning(memoryWords(trans, cluster), {
          autoClose: SHOWN_MS,
          actions: [
            this._action(cluster, trans.__('Show the memory'), 'memory')
          ]
        });
        return;
      case 'spilling':
        Notification.info(
          trans.__(
            '%1 puts results on disk: %2 so far. Tasks that need them wait for the disk.',
            cluster.name,
            formatBytes(cluster.spilled_bytes)
          ),
          {
            autoClose: SHOWN_MS,
            actions: [
              this._action(cluster, trans.__('Show the memory'), 'memory')
            ]
          }
        );
        return;
      case 'runEnded':
        if (run !== undefined) {
          this._tellRun(cluster, run);
        }
    }
  }

  /** Workers that die one after the other are one piece of news, which grows: nobody reads one notification a second. */
  private _tellDeaths(cluster: ICluster, count: number): void {
    const trans = this._trans;
    const before = this._deaths.get(cluster.id);
    const lastMs = Date.now();
    const isSameNews =
      before !== undefined &&
      lastMs - before.lastMs < TOGETHER_MS &&
      Notification.manager.has(before.id);
    const all = isSameNews ? before.count + count : count;
    const message = trans._n(
      'A worker of %3 has died.',
      '%2 workers of %3 have died.',
      all,
      formatCount(all),
      cluster.name
    );
    if (isSameNews) {
      Notification.update({ id: before.id, message });
    }
    const id = isSameNews
      ? before.id
      : Notification.warning(message, {
          autoClose: SHOWN_MS,
          actions: [this._action(cluster, trans.__('Show the log'), 'logs')]
        });
    this._deaths.set(cluster.id, { id, count: all, lastMs });
  }

  private _tellRun(cluster: ICluster, run: IRun): void {
    const trans = this._trans;
    const { name } = cluster;
    const label = run.label || run.kind;
    const took = formatDuration((run.ended_at ?? 0) - run.started_at);
    if (run.outcome === 'failed') {
      Notification.error(
        trans.__('%1 has failed on %2 after %3.', label, name, took),
        {
          autoClose: SHOWN_MS,
          actions: [this._action(cluster, trans.__('Show the errors'), 'logs')]
        }
      );
    } else {
      Notification.success(
        trans.__('%1 has finished on %2 after %3.', label, name, took),
        {
          autoClose: SHOWN_MS,
          actions: [
            this._action(cluster, trans.__('Show the run'), 'runs', run.id)
          ]
        }
      );
    }
  }

  private _action(
    { id, name }: ICluster,
    label: string,
    page: string,
    run?: string
  ): Notification.IAction {
    return {
      label,
      caption: this._trans.__('Open a dashboard of %1', name),
      callback: () =>
        void this._commands.execute(CommandIDs.openDashboard, {
          cluster: id,
          page,
          ...(run !== undefined && { run })
        })
    };
  }

  private readonly _deaths = new Map<string, INotice>();
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
