/**
 * The command that looks for the fault when numbers or dashboards don't come.
 */
import {
  JupyterFrontEnd,
  JupyterFrontEndPlugin
} from '@jupyterlab/application';
import { ICommandPalette } from '@jupyterlab/apputils';
import { ITranslator, TranslationBundle } from '@jupyterlab/translation';
import { CommandIDs, PALETTE_CATEGORY } from '../commands';
import { formatDuration } from '../model/format';
import { isRecording } from '../model/kinds';
import { showDoctor } from '../panels/doctor';
import { IClusters, IHop, IStateStream } from '../tokens';
import { messageOf } from './endings';
import { languageOf } from './language';
import { underMenu } from './underMenu';

export const doctorPlugin: JupyterFrontEndPlugin<void> = {
  id: 'glassloom:doctor',
  description: 'Finds where the connection to a cluster is broken.',
  autoStart: true,
  requires: [IStateStream, IClusters],
  optional: [ITranslator, ICommandPalette],
  activate: (
    app: JupyterFrontEnd,
    stream: IStateStream,
    clusters: IClusters,
    translator: ITranslator | null,
    palette: ICommandPalette | null
  ): void => {
    const trans = languageOf(translator);
    app.commands.addCommand(CommandIDs.diagnose, {
      label: args =>
        args.isPalette
          ? trans.__('Find the Fault in the Connection…')
          : trans.__('Check the Connection…'),
      caption: trans.__(
        'Look at each hop between a cluster and the screen, and say which is broken'
      ),
      describedBy: {
        args: {
          type: 'object',
          properties: {
            cluster: {
              type: 'string',
              description: 'Id of the cluster; the active one by default.'
            }
          }
        }
      },
      execute: async args => {
        const asked =
          args.cluster ??
          (args.isContextMenu === true ? underMenu(app).cluster : undefined);
        const id =
          typeof asked === 'string' && !isRecording(asked)
            ? asked
            : (clusters.active?.id ?? null);
        const name = id === null ? null : (clusters.find(id)?.name ?? id);
        let again = true;
        while (again) {
          again = await showDoctor(
            trans,
            name,
            await look(trans, stream, clusters, id)
          );
        }
      }
    });
    palette?.addItem({
      command: CommandIDs.diagnose,
      category: PALETTE_CATEGORY,
      args: { isPalette: true }
    });
  }
};

/** Return the hops from the cluster to this page: the server's, and the WebSocket that only we can judge. */
async function look(
  trans: TranslationBundle,
  stream: IStateStream,
  clusters: IClusters,
  id: string | null
): Promise<IHop[]> {
  let hops: IHop[];
  try {
    hops = await clusters.doctor(id);
  } catch (error) {
    hops = [
      {
        id: 'server',
        title: trans.__('Jupyter server'),
        state: 'bad',
        detail: messageOf(error),
        mend: trans.__(
          'Is the Jupyter server running, and is its extension glassloom_server enabled?'
        )
      }
    ];
  }
  const others = hops.filter(hop => hop.id !== 'websocket');
  return [...others, websocketHop(trans, stream)];
}

function websocketHop(trans: TranslationBundle, stream: IStateStream): IHop {
  const { connection, heardAtMs, isMissing, problem } = stream;
  const isGood = connection === 'connected';
  const heard =
    heardAtMs === null
      ? trans.__('Nothing was heard through it yet.')
      : trans.__(
          'The last word came %1 ago.',
          formatDuration(Math.round((Date.now() - heardAtMs) / 1000))
        );
  return {
    id: 'websocket',
    title: trans.__('WebSocket of this page'),
    state: isGood
      ? 'good'
      : isMissing
        ? 'skipped'
        : connection === 'connecting'
          ? 'unknown'
          : 'bad',
    detail: (isMissing ? [heard] : [problem, heard]).filter(Boolean).join(' '),
    mend:
      connection === 'lost' && !isMissing
        ? trans.__(
            'If other requests are answered, a proxy between here and Jupyter does not let WebSockets through.'
          )
        : ''
  };
}
