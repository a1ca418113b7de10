/**
 * The code that connects a notebook to a cluster. Pure.
 */

/** Return Python that connects to a cluster by its name. */
export function connectionCode(name: string): string {
  // A JSON string of printable characters is a Python string, too.
  return `from glassloom import Client\n\nclient = Client(${JSON.stringify(name)})\nclient`;
}
