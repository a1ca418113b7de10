/**
 * What is known of notebooks: the code of a cell, whether its notebook is open, saved, or changed since.
 */
import { JupyterFrontEnd } from '@jupyterlab/application';
import { INotebookTracker } from '@jupyterlab/notebook';
import { Signal } from '@lumino/signaling';
import { notebooksPlugin } from '../plugins/notebooks';
import { INotebooks } from '../tokens';

// The real one draws notebooks, which takes long to load.
jest.mock('@jupyterlab/notebook', () => ({
  INotebookTracker: {},
  NotebookActions: {}
}));

const SAVED = [
  { id: 'a', source: ['x = 1\n', 'x'] },
  { id: 'b', source: 'y = 2' },
  { source: 'without an id, as in old notebooks' }
];

function makeNotebooks(
  open: Record<string, { id: string; code: string }[]>
): [INotebooks, jest.Mock] {
  const panels = Object.entries(open).map(([path, cells]) => ({
    context: { path },
    model: {
      cells: cells.map(({ id, code }) => ({
        id,
        sharedModel: { getSource: () => code }
      }))
    }
  }));
  const tracker = {
    currentWidget: null,
    currentChanged: new Signal({}),
    find: (is: (panel: unknown) => boolean) => panels.find(is)
  } as unknown as INotebookTracker;
  const get = jest.fn(() => Promise.resolve({ content: { cells: SAVED } }));
  const app = { serviceManager: { contents: { get } } };
  const notebooks = notebooksPlugin.activate(
    app as unknown as JupyterFrontEnd,
    tracker
  ) as INotebooks;
  return [notebooks, get];
}

describe('The code of a cell', () => {
  it('is what the notebook has now, if that is open', async () => {
    const [notebooks, get] = makeNotebooks({
      'n.ipynb': [{ id: 'a', code: 'x = 2' }]
    });
    expect(await notebooks.codeOf('n.ipynb', 'a')).toBe('x = 2');
    expect(await notebooks.codeOf('n.ipynb', 'b')).toBeNull();
    expect(get).not.toHaveBeenCalled();
  });

  it('is what is saved, if the notebook is not open', async () => {
    const [notebooks, get] = makeNotebooks({ 'other.ipynb': [] });
    expect(await notebooks.codeOf('n.ipynb', 'a')).toBe('x = 1\nx');
    expect(await notebooks.codeOf('n.ipynb', 'b')).toBe('y = 2');
    expect(await notebooks.codeOf('n.ipynb', 'c')).toBeNull();
    expect(get).toHaveBeenCalledWith('n.ipynb');
  });
});
