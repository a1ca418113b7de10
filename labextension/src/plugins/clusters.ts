/**
 * The commands that start clusters and ask them for things. What a cluster cannot do, its command neither offers nor does.
 */
import {
  JupyterFrontEnd,
  JupyterFrontEndPlugin
} from '@jupyterlab/application';
import {
  Dialog,
  ICommandPalette,
  InputDialog,
  Notification,
  showDialog
} from '@jupyterlab/apputils';
import { ISettingRegistry } from '@jupyterlab/settingregistry';
import { ITranslator, TranslationBundle } from '@jupyterlab/translation';
import { addIcon } from '@jupyterlab/ui-components';
import { ReadonlyPartialJSONObject } from '@lumino/coreutils';
import { CommandIDs, PALETTE_CATEGORY } from '../commands';
import { glassloomIcon } from '../icons';
import { connectionCode, referenceOf } from '../model/insertion';
import { can, isShared } from '../model/kinds';
import { mergedProfiles, withTitles } from '../model/profiles';
import { showLog } from '../panels/log';
import { IRefusal, NewClusterDialog } from '../panels/newCluster';
import { RequestRefused } from '../request';
import { askForScale } from '../panels/scale';
import {
  Ability,
  ICluster,
  IClusterRequest,
  IClusters,
  INotebooks,
  IStart
} from '../tokens';
import { messageOf, shutDown, tellFailure, tellOutcome } from './endings';
import { languageOf } from './language';
import { loadSettings } from './settings';
import { underMenu } from './underMenu';

const PLUGIN_ID = 'glassloom:clusters';

/** What a command needs. */
interface IContext {
  app: JupyterFrontEnd;
  trans: TranslationBundle;
  clusters: IClusters;
  notebooks: INotebooks | null;
}

export const clustersPlugin: JupyterFrontEndPlugin<void> = {
  id: PLUGIN_ID,
  description: 'Starts, controls and shuts down clusters.',
  autoStart: true,
  requires: [IClusters],
  optional: [ITranslator, INotebooks, ICommandPalette, ISettingRegistry],
  activate: (
    app: JupyterFrontEnd,
    clusters: IClusters,
    translator: ITranslator | null,
    notebooks: INotebooks | null,
    palette: ICommandPalette | null,
    settings: ISettingRegistry | null
  ): void => {
    const trans = languageOf(translator);
    const context = { app, trans, clusters, notebooks };
    addNewCluster(context, settings);
    addControls(context);
    addInsertClient(context);
    addShutDown(context);
    for (const command of [CommandIDs.newCluster, ...CONTROLS]) {
      palette?.addItem({
        command,
        category: PALETTE_CATEGORY,
        args: { isPalette: true }
      });
    }
    let offered = '';
    clusters.changed.connect(() => {
      // The palette and all toolbars are drawn anew each time: not for each number.
      const now = JSON.stringify([
        clusters.active?.id,
        clusters.all.map(({ id, name, kind, can }) => [id, name, kind, can])
      ]);
      if (now !== offered) {
        offered = now;
        CONTROLS.forEach(id => app.commands.notifyCommandChanged(id));
      }
    });
  }
};

/** What can be done with a cluster depends on which there are. */
const CONTROLS = [
  CommandIDs.insertClient,
  CommandIDs.scaleCluster,
  CommandIDs.restartCluster,
  CommandIDs.renameCluster,
  CommandIDs.showLog,
  CommandIDs.shutDownCluster,
  CommandIDs.shutDownAll
];

const CLUSTER_ARGS = {
  args: {
    type: 'object',
    properties: {
      cluster: {
        type: 'string',
        description: 'Id of the cluster; the active one by default.'
      }
    }
  }
} as const;

function addNewCluster(
  { app, trans, clusters }: IContext,
  settings: ISettingRegistry | null
): void {
  let isAsking = false;
  app.commands.addCommand(CommandIDs.newCluster, {
    label: args =>
      args.isPalette
        ? trans.__('New Cluster…')
        : args.isLauncher
          ? trans.__('Glassloom Cluster')
          : trans.__('New'),
    caption: trans.__('Start a new cluster'),
    icon: args =>
      args.isPalette ? undefined : args.isLauncher ? glassloomIcon : addIcon,
    describedBy: {
      args: {
        type: 'object',
        properties: {
          start: {
            type: 'string',
            description: 'Id of a start that failed: its values are filled in.'
          },
          lost: {
            type: 'string',
            description:
              'Id of a cluster that was lost: what is known of its start is filled in.'
          }
        }
      }
    },
    execute: async args => {
      if (isAsking) {
        return; // a double click
      }
      isAsking = true;
      try {
        await startCluster(
          trans,
          clusters,
          settings,
          clusters.starts.find(({ id }) => id === args.start),
          requestOfLost(clusters, args.lost)
        );
      } finally {
        isAsking = false;
      }
    }
  });
}

/** So long the form waits for what becomes of a start; what is wrong with a request shows earlier. Then the panel tells it. */
const FORM_WAIT_MS = 10_000;

/** Ask and start, until there is a cluster or the person gives up. */
async function startCluster(
  trans: TranslationBundle,
  clusters: IClusters,
  settings: ISettingRegistry | null,
  failed?: IStart,
  initial: IClusterRequest = {}
): Promise<void> {
  let known;
  let own: unknown;
  try {
    known = await clusters.profiles();
    await loadSettings(settings, PLUGIN_ID, trans, ({ profiles }) => {
      own = profiles;
    });
  } catch (error) {
    tellFailure(trans.__('No cluster can be started: %1', messageOf(error)));
    return;
  }
  let asked: string | null = null;
  const dialog = new NewClusterDialog({
    trans,
    profiles: { ...known, profiles: mergedProfiles(known.profiles, own) },
    initial: failed ? (clusters.requestOf(failed.id) ?? {}) : initial,
    refusal: failed ? { message: failed.problem, field: failed.field } : null,
    start: async request => {
      try {
        asked = await clusters.start(request);
      } catch (error) {
        return refusalOf(error);
      }
      const id = asked;
      const outcome = await clusters.outcomeOf(id, FORM_WAIT_MS);
      if (outcome === null || dialog.isDisposed) {
        return null;
      }
      await forget(clusters, id); // the form says it
      return { message: outcome.problem, field: outcome.field };
    },
    giveUp: () => {
      if (asked !== null) {
        void forget(clusters, asked);
      }
    }
  });
  const { button } = await dialog.launch();
  if (button.accept && failed !== undefined) {
    await forget(clusters, failed.id);
  }
}

/** What a cluster was started with, as far as it is known here: its name at least, by which notebooks connect to it. */
function requestOfLost(clusters: IClusters, lost: unknown): IClusterRequest {
  const found = clusters.lost.find(({ id }) => id === lost);
  if (found === undefined) {
    return {};
  }
  const request = found.start === null ? null : clusters.requestOf(found.start);
  return { ...request, name: found.name };
}

function refusalOf(error: unknown): IRefusal {
  const field = error instanceof RequestRefused ? error.field : undefined;
  return { message: messageOf(error), field };
}

/** Let a start go; that it has gone already is as well. */
async function forget(clusters: IClusters, start: string): Promise<void> {
  await clusters.dismissStart(start).catch(() => undefined);
}

function addControls(context: IContext): void {
  const { trans, clusters } = context;
  addControl(context, {
    command: CommandIDs.scaleCluster,
    abilities: ['scale', 'adapt'],
    label: trans.__('Scale…'),
    ofActive: trans.__('Scale the Active Cluster…'),
    execute: cluster => scale(context, cluster)
  });
  addControl(context, {
    command: CommandIDs.restartCluster,
    abilities: ['restart'],
    label: trans.__('Restart Workers…'),
    ofActive: trans.__('Restart the Workers of the Active Cluster…'),
    execute: cluster => restart(context, cluster)
  });
  addControl(context, {
    command: CommandIDs.renameCluster,
    abilities: ['rename'],
    label: trans.__('Rename…'),
    ofActive: trans.__('Rename the Active Cluster…'),
    execute: cluster => rename(context, cluster)
  });
  addControl(context, {
    command: CommandIDs.showLog,
    abilities: ['log'],
    label: trans.__('Show Log'),
    ofActive: trans.__('Show the Log of the Active Cluster'),
    execute: ({ id, name }) => showLog(trans, name, () => clusters.log(id))
  });
}

interface IControl {
  command: string;
  /** It is offered to a cluster that has any of these. */
  abilities: Ability[];
  label: string;
  /** The label where no cluster is to be seen. */
  ofActive: string;
  execute: (cluster: ICluster) => Promise<void>;
}

function addControl(context: IContext, control: IControl): void {
  const offers = (cluster: ICluster | null): cluster is ICluster =>
    cluster !== null && control.abilities.some(each => can(cluster, each));
  context.app.commands.addCommand(control.command, {
    label: args => (args.isPalette ? control.ofActive : control.label),
    isVisible: args =>
      args.isPalette === true || offers(clusterOf(context, args)),
    isEnabled: args => offers(clusterOf(context, args)),
    describedBy: CLUSTER_ARGS,
    execute: async args => {
      const cluster = clusterOf(context, args);
      if (offers(cluster)) {
        await control.execute(cluster);
      } else if (cluster === null && args.cluster !== undefined) {
        tellGone(context.trans); // by a button in an output that was saved
      }
    }
  });
}

function tellGone(trans: TranslationBundle): void {
  Notification.info(
    trans.__('This cluster has ended, or the Jupyter server does not know it.'),
    { autoClose: 5000 }
  );
}

async function scale(
  { trans, clusters }: IContext,
  cluster: ICluster
): Promise<void> {
  const { id, name } = cluster;
  const wish = await askForScale(trans, cluster);
  if (wish === null) {
    return;
  }
  const asked =
    'n' in wish
      ? cluster.adaptive === null
        ? clusters.scale(id, wish.n)
        : clusters.adapt(id, null).then(() => clusters.scale(id, wish.n))
      : clusters.adapt(id, wish);
  const titles = {
    n: trans.__('Workers'),
    minimum: trans.__('At least'),
    maximum: trans.__('At most')
  };
  await tellOutcome(asked, reason =>
    trans.__('%1 could not be scaled: %2', name, withTitles(reason, titles))
  );
}

async function restart(
  { trans, clusters }: IContext,
  { id, name }: ICluster
): Promise<void> {
  const { button } = await showDialog({
    title: trans.__('Restart the workers of %1?', name),
    body: trans.__('The results that they hold are lost.'),
    buttons: [
      Dialog.cancelButton({ label: trans.__('Cancel') }),
      Dialog.warnButton({ label: trans.__('Restart') })
    ]
  });
  if (button.accept) {
    await tellOutcome(clusters.restart(id), reason =>
      trans.__('The workers of %1 could not be restarted: %2', name, reason)
    );
  }
}

async function rename(
  { trans, clusters }: IContext,
  { id, name }: ICluster
): Promise<void> {
  const { button, value } = await InputDialog.getText({
    title: trans.__('Rename this cluster'),
    label: trans.__('New name'),
    text: name,
    okLabel: trans.__('Rename')
  });
  const wanted = value?.trim() ?? '';
  if (button.accept && wanted !== '' && wanted !== name) {
    const titles = { name: trans.__('New name') };
    await tellOutcome(clusters.rename(id, wanted), reason =>
      trans.__('%1 could not be renamed: %2', name, withTitles(reason, titles))
    );
  }
}

function addInsertClient(context: IContext): void {
  const { app, trans, notebooks } = context;
  const isPossible = (args: ReadonlyPartialJSONObject): boolean => {
    const cluster = clusterOf(context, args);
    const notebook = notebooks?.current ?? null;
    return notebook !== null && cluster !== null && isShared(cluster);
  };
  app.commands.addCommand(CommandIDs.insertClient, {
    label: args =>
      args.isPalette
        ? trans.__('Insert Code that Connects to the Active Cluster')
        : trans.__('Insert Code that Connects to It'),
    caption: trans.__('Insert a cell with Client("name") into the notebook'),
    isVisible: args => args.isPalette === true || isPossible(args),
    isEnabled: isPossible,
    describedBy: CLUSTER_ARGS,
    execute: args => {
      const cluster = clusterOf(context, args);
      if (cluster !== null) {
        const reference = referenceOf(cluster, context.clusters.all);
        notebooks?.insert(connectionCode(reference));
      }
    }
  });
  notebooks?.changed.connect(() =>
    app.commands.notifyCommandChanged(CommandIDs.insertClient)
  );
}

function addShutDown(context: IContext): void {
  const { app, trans, clusters } = context;
  addControl(context, {
    command: CommandIDs.shutDownCluster,
    abilities: ['shut_down'],
    label: trans.__('Shut Down…'),
    ofActive: trans.__('Shut Down the Active Cluster…'),
    execute: async cluster => {
      if (await confirmShutDown(trans, cluster)) {
        await shutDown(trans, clusters, cluster);
      }
    }
  });
  const all = (): ICluster[] =>
    clusters.all.filter(cluster => can(cluster, 'shut_down'));
  app.commands.addCommand(CommandIDs.shutDownAll, {
    label: trans.__('Shut Down All Clusters…'),
    isEnabled: () => all().length > 0,
    describedBy: { args: { type: 'object', properties: {} } },
    execute: async () => {
      const { button } = await showDialog({
        title: trans.__('Shut down all clusters?'),
        body: trans.__('The results that they hold will be lost.'),
        buttons: [
          Dialog.cancelButton({ label: trans.__('Cancel') }),
          Dialog.warnButton({ label: trans.__('Shut Down All') })
        ]
      });
      if (button.accept) {
        await Promise.all(
          all().map(cluster => shutDown(trans, clusters, cluster))
        );
      }
    }
  });
}

async function confirmShutDown(
  trans: TranslationBundle,
  { name, tasks }: ICluster
): Promise<boolean> {
  const isBusy = tasks.running + tasks.waiting + tasks.ready > 0;
  const { button } = await showDialog({
    title: trans.__('Shut down this cluster?'),
    body: isBusy
      ? trans.__(
          'The results that %1 holds will be lost, and the tasks that it still has to do.',
          name
        )
      : trans.__('The results that %1 holds will be lost.', name),
    buttons: [
      Dialog.cancelButton({ label: trans.__('Cancel') }),
      Dialog.warnButton({ label: trans.__('Shut Down') })
    ]
  });
  return button.accept;
}

/** The cluster that a command is about: named in its arguments, under the context menu, or the active one. */
function clusterOf(
  { app, clusters }: IContext,
  args: ReadonlyPartialJSONObject
): ICluster | null {
  if (typeof args.cluster === 'string') {
    return clusters.find(args.cluster);
  }
  if (args.isContextMenu === true) {
    return clusters.find(underMenu(app).cluster ?? '');
  }
  return clusters.active;
}
