/**
 * Asking clusters for things that may fail: what became of it is told in a notification.
 */
import { Dialog, Notification, showDialog } from '@jupyterlab/apputils';
import { TranslationBundle } from '@jupyterlab/translation';
import { ICluster, IClusters } from '../tokens';

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** How long it is seen that something which a person asked for has failed. */
const FAILURE_MS = 10_000;

/** Tell a person that what was asked for has failed; it stays in the list of notifications. */
export function tellFailure(message: string): void {
  Notification.error(message, { autoClose: FAILURE_MS });
}

/** Shut a cluster down; resolves when it has ended, or a person was told why it hasn't and offered to kill it. */
export async function shutDown(
  trans: TranslationBundle,
  clusters: IClusters,
  cluster: ICluster
): Promise<void> {
  const { id, name } = cluster;
  try {
    await clusters.shutDown(id);
  } catch (error) {
    Notification.error(
      trans.__('%1 could not be shut down: %2', name, messageOf(error)),
      {
        autoClose: false,
        actions: [
          {
            label: trans.__('Kill'),
            caption: trans.__('Kill the processes of %1', name),
            displayType: 'warn',
            callback: () => void kill(trans, clusters, cluster)
          }
        ]
      }
    );
  }
}

/** Kill a cluster's processes, if a person agrees. */
export async function kill(
  trans: TranslationBundle,
  clusters: IClusters,
  { id, name }: ICluster
): Promise<void> {
  const { button } = await showDialog({
    title: trans.__('Kill %1?', name),
    body: trans.__(
      'Its processes end at once, without tidying up. Results that it holds are lost.'
    ),
    buttons: [
      Dialog.cancelButton({ label: trans.__('Cancel') }),
      Dialog.warnButton({ label: trans.__('Kill') })
    ]
  });
  if (!button.accept) {
    return;
  }
  try {
    await clusters.kill(id);
  } catch (error) {
    tellFailure(trans.__('%1 could not be killed: %2', name, messageOf(error)));
  }
}

/** Await what a cluster was asked for, and tell a person what became of it. */
export async function tellOutcome(
  asked: Promise<string>,
  failed: (reason: string) => string
): Promise<void> {
  try {
    Notification.success(await asked, { autoClose: 4000 });
  } catch (error) {
    tellFailure(failed(messageOf(error)));
  }
}
