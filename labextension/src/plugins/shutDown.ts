/**
 * Shutting a cluster down, with a notification if that fails.
 */
import { Notification } from '@jupyterlab/apputils';
import { ICluster, IClusterModel } from '../tokens';

/** Shut a cluster down; resolves when it has ended, or a person was told why it hasn't. */
export async function shutDown(
  model: IClusterModel,
  cluster: ICluster
): Promise<void> {
  try {
    await model.shutDown(cluster.id);
  } catch (error) {
    Notification.error(
      `${cluster.name} could not be shut down: ${messageOf(error)}`
    );
  }
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
