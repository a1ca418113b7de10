/**
 * The code that connects a notebook to a cluster. Pure.
 */

import { ICluster } from '../tokens';

/** Return what `Client` finds a cluster by: its name, or its id where other clusters have that name, too, or nobody could read it. */
export function referenceOf(
  { id, name, is_name_exact: isExact }: ICluster,
  all: readonly ICluster[]
): string {
  const isShared = all.some(each => each.name === name && each.id !== id);
  return isShared || !isExact ? id : name;
}

/** Return Python that connects to a cluster by its name or id. */
export function connectionCode(reference: string): string {
  // A JSON string of printable characters is a Python string, too.
  return `from glassloom import Client\n\nclient = Client(${JSON.stringify(reference)})\nclient`;
}
