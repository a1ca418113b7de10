/**
 * Numbers as a person reads them. Pure.
 */
import { TranslationBundle } from '@jupyterlab/translation';

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

/** Format an age: `formatAge(trans, 125)` is `"2 min ago"`. */
export function formatAge(trans: TranslationBundle, seconds: number): string {
  if (seconds < 60) {
    return trans.__('just now');
  }
  if (seconds < 3600) {
    return trans.__('%1 min ago', Math.floor(seconds / 60));
  }
  if (seconds < 48 * 3600) {
    return trans.__('%1 h ago', Math.floor(seconds / 3600));
  }
  return trans.__('%1 days ago', Math.floor(seconds / 86400));
}

/** Format a duration with two digits: `formatDuration(95)` is `"1 min 35 s"`. */
export function formatDuration(seconds: number): string {
  if (seconds < 1) {
    return `${Math.round(1000 * seconds)} ms`;
  }
  if (seconds < 59.95) {
    return `${seconds < 9.95 ? seconds.toFixed(1) : Math.round(seconds)} s`;
  }
  const minutes = Math.floor(Math.round(seconds) / 60);
  return minutes < 60
    ? `${minutes} min ${Math.round(seconds) % 60} s`
    : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}
