/**
 * Numbers as a person reads them. Pure.
 */
const UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'];

/** Format bytes with three digits: `formatBytes(1536)` is `"1.50 KiB"`. */
export function formatBytes(bytes: number): string {
  let value = bytes;
  let unit = 0;
  // 999.5 would be rounded to four digits.
  while (value >= 999.5 && unit < UNITS.length - 1) {
    value /= 1024;
    unit += 1;
  }
  const digits = unit === 0 || value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
  return `${value.toFixed(digits)} ${UNITS[unit]}`;
}

/** Format a part of a whole in the unit of the whole: `"0.50 / 2.00 GiB"`. */
export function formatShare(bytes: number, ofBytes: number): string {
  const whole = formatBytes(ofBytes);
  const [number, unit] = whole.split(' ');
  const part = bytes / 1024 ** UNITS.indexOf(unit);
  const digits = number.split('.')[1]?.length ?? 0;
  return `${part.toFixed(digits)} / ${whole}`;
}

/** Format a count with the thousands apart: `formatCount(12345)` is `"12,345"`. */
export function formatCount(count: number): string {
  return count.toLocaleString('en-US');
}

/** Format a number of things: `formatNumber(1, 'worker')` is `"1 worker"`. */
export function formatNumber(count: number, noun: string): string {
  return `${formatCount(count)} ${noun}${count === 1 ? '' : 's'}`;
}

/** Format an age: `formatAge(125)` is `"2 min ago"`. */
export function formatAge(seconds: number): string {
  if (seconds < 60) {
    return 'just now';
  }
  if (seconds < 3600) {
    return `${Math.floor(seconds / 60)} min ago`;
  }
  if (seconds < 48 * 3600) {
    return `${Math.floor(seconds / 3600)} h ago`;
  }
  return `${Math.floor(seconds / 86400)} days ago`;
}
