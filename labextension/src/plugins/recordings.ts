/**
 * Recordings (.glr) open as replays: by double click in the file browser, and from the section of runs.
 */
import {
  ILayoutRestorer,
  JupyterFrontEnd,
  JupyterFrontEndPlugin
} from '@jupyterlab/application';
import { IThemeManager, WidgetTracker } from '@jupyterlab/apputils';
import { PathExt } from '@jupyterlab/coreutils';
import {
  ABCWidgetFactory,
  Base64ModelFactory,
  DocumentRegistry,
  DocumentWidget
} from '@jupyterlab/docregistry';
import { Contents } from '@jupyterlab/services';
import { ITranslator } from '@jupyterlab/translation';
import { BoxPanel } from '@lumino/widgets';
import { CommandIDs } from '../commands';
import { glassloomIcon } from '../icons';
import { Resolver } from '../model/resolver';
import { DashboardPane } from '../panels/pane';
import { GlassloomAPI } from '../request';
import { IClusters, IPages, IRecordings, IStateStream } from '../tokens';
import { messageOf, tellFailure } from './endings';
import { currentTheme } from './panes';
import { languageOf } from './language';
import { underMenu } from './underMenu';

const FACTORY = 'Glassloom replay';
const FILE_TYPE = 'glassloom-recording';
const MODEL = 'glassloom-recording';
const PAGE = 'status';

/** A recording is read by the server; its bytes, which may be many, never come here. */
class RecordingModelFactory extends Base64ModelFactory {
  get name(): string {
    return MODEL;
  }

  get fileFormat(): Contents.FileFormat {
    // Null keeps JupyterLab from asking for the content.
    return null as unknown as Contents.FileFormat;
  }
}

/** The pane in a frame of its own: JupyterLab takes a new title of a document's content for a new name of its file. */
class ReplayView extends BoxPanel {
  constructor(readonly pane: DashboardPane) {
    super();
    this.title.icon = glassloomIcon;
    this.addWidget(pane);
  }
}

type Replay = DocumentWidget<ReplayView>;

class ReplayFactory extends ABCWidgetFactory<Replay> {
  constructor(
    options: DocumentRegistry.IWidgetFactoryOptions<Replay>,
    private readonly _makePane: (path: string) => DashboardPane
  ) {
    super(options);
  }

  protected createNewWidget(context: DocumentRegistry.Context): Replay {
    const content = new ReplayView(this._makePane(context.path));
    context.pathChanged.connect((_, path) =>
      content.pane.setTarget({ kind: 'recording', path })
    );
    const widget = new DocumentWidget({ content, context });
    widget.toolbar.hide();
    return widget;
  }
}

export const recordingsPlugin: JupyterFrontEndPlugin<void> = {
  id: 'glassloom:recordings',
  description: 'Opens recordings for replay.',
  autoStart: true,
  requires: [IStateStream, IClusters, IRecordings, IPages],
  optional: [ITranslator, ILayoutRestorer, IThemeManager],
  activate: (
    app: JupyterFrontEnd,
    stream: IStateStream,
    clusters: IClusters,
    recordings: IRecordings,
    pages: IPages,
    translator: ITranslator | null,
    restorer: ILayoutRestorer | null,
    themes: IThemeManager | null
  ): void => {
    const trans = languageOf(translator);
    const tracker = new WidgetTracker<Replay>({
      namespace: 'glassloom-replays'
    });
    const options = {
      api: new GlassloomAPI(app.serviceManager.serverSettings, trans),
      stream,
      pages,
      resolver: new Resolver(clusters, recordings),
      trans
    };
    const makePane = (path: string): DashboardPane =>
      new DashboardPane({
        ...options,
        target: { kind: 'recording', path },
        page: PAGE,
        pageTitle: PAGE,
        name: PathExt.basename(path),
        theme: currentTheme(themes)
      });
    const factory = new ReplayFactory(
      {
        name: FACTORY,
        label: trans.__('Glassloom Replay'),
        modelName: MODEL,
        fileTypes: [FILE_TYPE],
        defaultFor: [FILE_TYPE],
        readOnly: true
      },
      makePane
    );
    app.docRegistry.addFileType({
      name: FILE_TYPE,
      displayName: trans.__('Glassloom Recording'),
      extensions: ['.glr'],
      fileFormat: 'base64',
      contentType: 'file',
      icon: glassloomIcon
    });
    app.docRegistry.addModelFactory(new RecordingModelFactory());
    app.docRegistry.addWidgetFactory(factory);
    factory.widgetCreated.connect((_, widget) => {
      void tracker.add(widget);
      widget.context.pathChanged.connect(() => void tracker.save(widget));
    });
    themes?.themeChanged.connect(() =>
      tracker.forEach(({ content }) =>
        content.pane.setTheme(currentTheme(themes))
      )
    );
    void restorer?.restore(tracker, {
      command: 'docmanager:open',
      args: ({ context }) => ({ path: context.path, factory: FACTORY }),
      name: ({ context }) => context.path
    });
    addCommands(app, trans, recordings);
  }
};

function addCommands(
  app: JupyterFrontEnd,
  trans: ReturnType<ITranslator['load']>,
  recordings: IRecordings
): void {
  app.commands.addCommand(CommandIDs.openRecording, {
    label: args =>
      args.isContextMenu === true
        ? trans.__('Replay')
        : trans.__('Replay a Recording'),
    describedBy: {
      args: {
        type: 'object',
        properties: {
          path: { type: 'string', description: 'Path of a .glr file.' }
        },
        required: ['path']
      }
    },
    execute: async args => {
      const { path } = args.isContextMenu === true ? underMenu(app) : args;
      if (typeof path !== 'string') {
        return;
      }
      try {
        const cluster = await recordings.replay(path);
        await app.commands.execute(CommandIDs.openDashboard, {
          target: { kind: 'recording', path },
          cluster
        });
      } catch (error) {
        tellFailure(
          trans.__(
            '%1 cannot be replayed: %2',
            PathExt.basename(path),
            messageOf(error)
          )
        );
      }
    }
  });
  app.commands.addCommand(CommandIDs.closeRecording, {
    label: trans.__('Close Recording'),
    caption: trans.__('Show a recording no more; its file stays'),
    describedBy: {
      args: {
        type: 'object',
        properties: {
          recording: { type: 'string', description: 'Id of the recording.' }
        },
        required: ['recording']
      }
    },
    execute: async args => {
      try {
        await recordings.close(String(args.recording));
      } catch (error) {
        tellFailure(
          trans.__('The recording could not be closed: %1', messageOf(error))
        );
      }
    }
  });
}
