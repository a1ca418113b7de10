/**
 * Dragging out of the panel: code into a notebook, and a dashboard to where its pane is to stand.
 */
import { MimeData } from '@lumino/coreutils';
import { Drag } from '@lumino/dragdrop';
import { Widget } from '@lumino/widgets';
import { connectionCode } from '../model/insertion';

/** What JupyterLab's notebooks take for cells, and its main area for a widget. */
const CELLS = 'application/vnd.jupyter.cells';
const WIDGET = 'application/vnd.lumino.widget-factory';
/** A press that moves so far is a drag. */
const THRESHOLD_PX = 5;

/** Begin to drag, once the pointer moves, the code that connects to a cluster. */
export function dragCode(
  event: PointerEvent,
  name: string,
  reference: string
): void {
  onceMoved(event, name, () => {
    const code = connectionCode(reference);
    const data = new MimeData();
    data.setData(CELLS, [
      {
        cell_type: 'code',
        execution_count: null,
        metadata: {},
        outputs: [],
        source: code
      }
    ]);
    data.setData('text/plain', code);
    return data;
  });
}

/** Begin to drag, once the pointer moves, a pane that is made where it is dropped. */
export function dragPane(
  event: PointerEvent,
  title: string,
  makePane: () => Widget | null
): void {
  onceMoved(event, title, () => {
    const data = new MimeData();
    data.setData(WIDGET, makePane);
    return data;
  });
}

function onceMoved(
  press: PointerEvent,
  label: string,
  dataOf: () => MimeData
): void {
  if (press.button !== 0) {
    return;
  }
  const stop = (): void => {
    document.removeEventListener('pointermove', move, true);
    document.removeEventListener('pointerup', stop, true);
    document.removeEventListener('pointercancel', stop, true);
  };
  const move = (event: PointerEvent): void => {
    const far = Math.max(
      Math.abs(event.clientX - press.clientX),
      Math.abs(event.clientY - press.clientY)
    );
    if (far < THRESHOLD_PX) {
      return;
    }
    stop();
    const drag = new Drag({
      mimeData: dataOf(),
      dragImage: imageOf(label),
      supportedActions: 'all',
      proposedAction: 'copy',
      source: null
    });
    void drag.start(event.clientX, event.clientY).then(() => drag.dispose());
  };
  document.addEventListener('pointermove', move, true);
  document.addEventListener('pointerup', stop, true);
  // A finger that scrolls: the browser takes the pointer.
  document.addEventListener('pointercancel', stop, true);
}

function imageOf(label: string): HTMLElement {
  const image = document.createElement('div');
  image.className = 'gl-DragImage';
  image.textContent = label;
  return image;
}
