/**
 * A line of recent values, small enough for a list.
 */
import * as React from 'react';

const WIDTH = 100;
const HEIGHT = 20;
/** How many values fill the width; a shorter history begins further right. */
const VALUES = 60;

/** Return the points of the line through `values`, scaled so that `top` is at the upper edge. */
export function linePoints(values: readonly number[], top: number): string {
  const shown = values.slice(-VALUES);
  const first = VALUES - shown.length;
  return shown
    .map((value, index) => {
      const x = ((first + index) / (VALUES - 1)) * WIDTH;
      const y = HEIGHT - 1 - Math.min(value / top, 1) * (HEIGHT - 2);
      return `${x.toFixed(1)},${y.toFixed(1)}`;
    })
    .join(' ');
}

export function Sparkline(props: {
  values: readonly number[];
  top: number;
  label: string;
}): JSX.Element {
  const points = linePoints(props.values, props.top);
  const start = points.split(',')[0];
  return (
    <svg
      className="gl-Sparkline"
      viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
      preserveAspectRatio="none"
      role="img"
      aria-label={props.label}
    >
      {points && (
        <>
          <polygon points={`${start},${HEIGHT} ${points} ${WIDTH},${HEIGHT}`} />
          <polyline points={points} vectorEffect="non-scaling-stroke" />
        </>
      )}
    </svg>
  );
}
