/**
 * Numbers as a person reads them, in the language of the page.
 */
import { TranslationBundle } from '@jupyterlab/translation';

/** Of the whole page, as JupyterLab's is; undefined: the browser's own. */
let language: string | undefined = 'en';

/** Write numbers from now on as a language does, such as `"de_DE"`; one that the browser doesn't know changes nothing. */
export function setLanguage(code: string): void {
  try {
    [language] = Intl.getCanonicalLocales(code.replace('_', '-'));
  } catch {
    return;
  }
}

/** Format a number with so many digits after the point. */
export function formatNumber(value: number, digits = 0): string {
  return value.toLocaleString(language, {
    minimumFractionDigits: digits,
    maximumFractionDigits: digits
  });
}

const UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'];

/** Format bytes with three digits: `formatBytes(1536)` is `"1.50 KiB"`. */
export function formatBytes(bytes: number): string {
  const { unit, digits } = scaleOf(bytes);
  return `${formatNumber(bytes / 1024 ** unit, digits)} ${UNITS[unit]}`;
}

/** Format a part of a whole in the unit of the whole: `"0.50 / 2.00 GiB"`. */
export function formatShare(bytes: number, ofBytes: number): string {
  const { unit, digits } = scaleOf(ofBytes);
  const part = formatNumber(bytes / 1024 ** unit, digits);
  return `${part} / ${formatBytes(ofBytes)}`;
}

/** Return in which unit a size has at most three digits before the point, and how many it has after it. */
function scaleOf(bytes: number): { unit: number; digits: number } {
  let value = bytes;
  let unit = 0;
  // 999.5 would be rounded to four digits.
  while (value >= 999.5 && unit < UNITS.length - 1) {
    value /= 1024;
    unit += 1;
  }
  const digits = unit === 0 || value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
  return { unit, digits };
}

/** Format a share of a core: `formatCores(0.42)` is `"0.4 %"`, `formatCores(12.3)` is `"12 %"`. */
export function formatCores(percent: number): string {
  return `${formatNumber(percent, percent < 9.95 ? 1 : 0)} %`;
}

/** Format a count with the thousands apart: `formatCount(12345)` is `"12,345"`. */
export function formatCount(count: number): string {
  return formatNumber(count);
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
  return trans.__('%1 days ago', formatCount(Math.floor(seconds / 86400)));
}

/** Format a duration with two digits: `formatDuration(95)` is `"1 min 35 s"`. */
export function formatDuration(seconds: number): string {
  if (seconds < 1) {
    return `${Math.round(1000 * seconds)} ms`;
  }
  if (seconds < 59.5) {
    return `${formatNumber(seconds, seconds < 9.95 ? 1 : 0)} s`;
  }
  const minutes = Math.floor(Math.round(seconds) / 60);
  return minutes < 60
    ? `${minutes} min ${Math.round(seconds) % 60} s`
    : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}
