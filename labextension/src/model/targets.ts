/**
 * What a pane shows: which cluster or recording its target is at the moment. Pure.
 */
import { ICluster, PaneTarget } from '../tokens';

// Ids become parts of a path, and reprs and saved workspaces are free to hold anything.
const SAFE_NAME = /^[\w-]+$/;

/** Tell whether something can be the id of a cluster, recording or page. */
export function isSafeName(value: unknown): value is string {
  return typeof value === 'string' && SAFE_NAME.test(value);
}

/** Return a target from what a repr or a saved workspace holds, or null if it is none. */
export function targetOf(value: unknown): PaneTarget | null {
  const { kind, id, path } = (value ?? {}) as Record<string, unknown>;
  if (kind === 'cluster' && isSafeName(id)) {
    return { kind, id };
  }
  if ((kind === 'notebook' || kind === 'recording') && isText(path)) {
    return { kind, path };
  }
  return kind === 'active' ? { kind } : null;
}

/** Return a short text that differs between targets, fit for the id of a widget. */
export function keyOf(target: PaneTarget): string {
  switch (target.kind) {
    case 'cluster':
      return target.id;
    case 'active':
      return 'active';
    default:
      return `${target.kind}-${encodeURIComponent(target.path)}`;
  }
}

/**
 * Return the target that stays right the longest: panes of a notebook's cluster follow the notebook, so that they
 * live on after "restart kernel and run all". Only its newest cluster can be followed so.
 */
export function lastingTarget(
  cluster: ICluster,
  all: readonly ICluster[]
): PaneTarget {
  const { notebook, id } = cluster;
  return notebook !== null && newestOf(notebook, all)?.id === id
    ? { kind: 'notebook', path: notebook }
    : { kind: 'cluster', id };
}

/** Return the newest cluster of a notebook; `all` is in the order in which they started. */
export function newestOf(
  notebook: string,
  all: readonly ICluster[]
): ICluster | null {
  return all.filter(each => each.notebook === notebook).at(-1) ?? null;
}

/** Return the target after a file, or a folder above it, was renamed. */
export function renamed(
  target: PaneTarget,
  from: string,
  to: string
): PaneTarget {
  if (target.kind !== 'notebook' && target.kind !== 'recording') {
    return target;
  }
  const { path } = target;
  return path === from || path.startsWith(`${from}/`)
    ? { ...target, path: to + path.slice(from.length) }
    : target;
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== '';
}
