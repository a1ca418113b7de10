/**
 * What recordings can be written to, in words.
 */
import { TranslationBundle } from '@jupyterlab/translation';
import { ExportFormat, IExport } from '../tokens';

/** In the order in which they are offered. */
export const FORMATS: readonly ExportFormat[] = [
  'report',
  'perfetto',
  'parquet',
  'speedscope'
];

/** Return what an export makes. */
export function describeFormat(
  trans: TranslationBundle,
  to: IExport['to']
): string {
  return {
    recording: trans.__('Recording'),
    report: trans.__('HTML Report'),
    perfetto: trans.__('Chrome Trace (Perfetto)'),
    parquet: trans.__('Parquet Files'),
    speedscope: trans.__('Profile (speedscope)')
  }[to];
}

/** Return how an export stands. */
export function describeExport(
  trans: TranslationBundle,
  { state, problem, output }: IExport
): string {
  return {
    recording: trans.__('Recording…'),
    exporting: trans.__('Exporting…'),
    done: output ?? trans.__('Done'),
    failed: problem || trans.__('Failed')
  }[state];
}

/** Tell whether an export made something to be looked at; a trace and a profile are for other tools. */
export function canOpen({ state, to, output }: IExport): boolean {
  return (
    state === 'done' &&
    output !== null &&
    ['recording', 'report', 'parquet'].includes(to)
  );
}

/** Tell whether an export made one file. */
export function canDownload({ state, to, output }: IExport): boolean {
  return state === 'done' && output !== null && to !== 'parquet';
}
