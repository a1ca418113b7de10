/**
 * What a context menu was opened on.
 */
import { JupyterFrontEnd } from '@jupyterlab/application';

/** Return what the row or card under the context menu says of itself: its cluster, run, page or file. */
export function underMenu(app: JupyterFrontEnd): DOMStringMap {
  const isOurs = ({ dataset }: HTMLElement): boolean =>
    'cluster' in dataset || 'page' in dataset || 'path' in dataset;
  return app.contextMenuHitTest(isOurs)?.dataset ?? {};
}
