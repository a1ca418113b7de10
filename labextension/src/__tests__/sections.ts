/**
 * What the tests of the panel's sections share.
 */
import { ReactWidget } from '@jupyterlab/ui-components';
import { MessageLoop } from '@lumino/messaging';
import { Widget } from '@lumino/widgets';
import { IModels, json, makeModels, settle } from './fakes';

const PAGES = [
  {
    id: 'status',
    title: 'Status',
    description: 'Everything',
    group: 'overview'
  },
  {
    id: 'task-stream',
    title: 'Task stream',
    description: 'What and when',
    group: 'tasks'
  }
];

export function setUp(): IModels & { told: unknown[] } {
  const models = makeModels({
    'GET /user/someone/glassloom/api/pages': json({ pages: PAGES })
  });
  return { ...models, told: [] };
}

export async function show(widget: ReactWidget): Promise<HTMLElement> {
  Widget.attach(widget, document.body);
  await redrawn(widget);
  return widget.node;
}

/** Let Lumino hand out its messages, and React draw. */
export async function redrawn(widget: ReactWidget): Promise<void> {
  await settle();
  MessageLoop.flush();
  for (let turn = 0; turn < 5; turn++) {
    await new Promise(resolve => setTimeout(resolve, 0));
  }
  await widget.renderPromise;
}

export function actionsOf(node: HTMLElement, selector: string): unknown[] {
  const buttons = node.querySelectorAll<HTMLElement>(
    `${selector} [data-action]`
  );
  return Array.from(buttons, ({ dataset }) => dataset.action);
}
