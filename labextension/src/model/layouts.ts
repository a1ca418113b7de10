/**
 * Named layouts of dashboard panes: taken from how the panes stand, and turned into steps that put them so again. Pure.
 */

/** Pages one over the other in tabs, or areas beside or below each other. */
export type Arrangement =
  | { pages: string[] }
  | { split: 'horizontal' | 'vertical'; areas: Arrangement[] };

export interface ILayout {
  name: string;
  arrangement: Arrangement;
}

export type Mode = 'split-right' | 'split-bottom' | 'tab-after';

/** Open a page relative to one that is open already; the first has no `ref`. */
export interface IStep {
  page: string;
  mode: Mode;
  ref: string | null;
}

/** A dock area as JupyterLab's shell describes it; `pageOf` knows our panes among its widgets. */
export type DockArea<W> =
  | { type: 'tab-area'; widgets: W[]; currentIndex: number }
  | {
      type: 'split-area';
      orientation: 'horizontal' | 'vertical';
      children: DockArea<W>[];
      sizes: number[];
    };

/** Return how our panes stand among all widgets, or null if there are none. */
export function arrangementOf<W>(
  area: DockArea<W>,
  pageOf: (widget: W) => string | null
): Arrangement | null {
  if (area.type === 'tab-area') {
    const pages = area.widgets.map(pageOf).filter(page => page !== null);
    return pages.length > 0 ? { pages: [...new Set(pages)] } : null;
  }
  const areas = area.children
    .map(child => arrangementOf(child, pageOf))
    .filter(each => each !== null);
  return areas.length > 1
    ? { split: area.orientation, areas }
    : (areas[0] ?? null);
}

/** Return the steps that arrange pages so, beside whatever is open. A page that stands in it twice is opened once. */
export function stepsOf(arrangement: Arrangement): IStep[] {
  const steps: IStep[] = [];
  const first = firstPage(arrangement);
  if (first !== null) {
    steps.push({ page: first, mode: 'split-right', ref: null });
    arrange(arrangement, steps);
  }
  return steps.filter(
    ({ page }, index) => steps.findIndex(step => step.page === page) === index
  );
}

/** Add the steps for all but the first page of an arrangement, which stands where the whole is to stand. */
function arrange(arrangement: Arrangement, steps: IStep[]): void {
  if ('pages' in arrangement) {
    arrangement.pages.slice(1).forEach((page, index) => {
      steps.push({ page, mode: 'tab-after', ref: arrangement.pages[index] });
    });
    return;
  }
  const mode =
    arrangement.split === 'horizontal' ? 'split-right' : 'split-bottom';
  // All areas first, so that each is divided only after it has its place.
  const firsts = arrangement.areas.map(firstPage);
  firsts.slice(1).forEach((page, index) => {
    if (page !== null) {
      steps.push({ page, mode, ref: firsts[index] });
    }
  });
  for (const area of arrangement.areas) {
    arrange(area, steps);
  }
}

function firstPage(arrangement: Arrangement): string | null {
  return 'pages' in arrangement
    ? (arrangement.pages[0] ?? null)
    : (arrangement.areas.map(firstPage).find(page => page !== null) ?? null);
}

/** Return the layouts that a setting holds; what is none is left out. */
export function layoutsOf(value: unknown): ILayout[] {
  if (!Array.isArray(value)) {
    return [];
  }
  return value.filter(
    (each: ILayout | null) =>
      typeof each?.name === 'string' && isArrangement(each.arrangement)
  ) as ILayout[];
}

function isArrangement(value: unknown): value is Arrangement {
  const { pages, split, areas } = (value ?? {}) as Record<string, unknown>;
  return Array.isArray(pages)
    ? pages.every(page => typeof page === 'string')
    : (split === 'horizontal' || split === 'vertical') &&
        Array.isArray(areas) &&
        areas.every(isArrangement);
}
