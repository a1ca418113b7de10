import { Backoff } from '../model/backoff';
import {
  formatAge,
  formatBytes,
  formatCount,
  formatDuration,
  formatShare,
  setLanguage
} from '../model/format';
import { linePoints } from '../panels/sparkline';
import { trans } from './fakes';

describe('formatBytes', () => {
  it.each([
    [0, '0 B'],
    [999, '999 B'],
    [1000, '0.98 KiB'],
    [1536, '1.50 KiB'],
    [10 * 1024, '10.0 KiB'],
    [2 * 1024 ** 3, '2.00 GiB'],
    [999.9 * 1024, '0.98 MiB'],
    [3000 * 1024 ** 5, '3,000 PiB']
  ])('writes %d bytes with three digits', (bytes, text) => {
    expect(formatBytes(bytes)).toBe(text);
  });
});

it('writes a part in the unit of its whole', () => {
  expect(formatShare(512 * 1024 ** 2, 2 * 1024 ** 3)).toBe('0.50 / 2.00 GiB');
  expect(formatShare(5, 900)).toBe('5 / 900 B');
});

it('puts the thousands of a count apart', () => {
  expect(formatCount(1234567)).toBe('1,234,567');
});

it.each([
  [0.0123, '12 ms'],
  [1.26, '1.3 s'],
  [59.4, '59 s'],
  [59.97, '1 min 0 s'],
  [95, '1 min 35 s'],
  [3 * 3600 + 59, '3 h 0 min']
])('writes a duration of %d s as %s', (seconds, text) => {
  expect(formatDuration(seconds)).toBe(text);
});

it('writes an age in the largest unit that fits', () => {
  expect(
    [5, 125, 7300, 200000].map(seconds => formatAge(trans, seconds))
  ).toEqual(['just now', '2 min ago', '2 h ago', '2 days ago']);
});

it('doubles the delay between tries up to the last one, and begins again after a success', () => {
  const backoff = new Backoff(500, 3000);
  expect([1, 2, 3, 4, 5].map(() => backoff.next())).toEqual([
    500, 1000, 2000, 3000, 3000
  ]);
  backoff.reset();
  expect(backoff.next()).toBe(500);
});

describe('linePoints', () => {
  it('puts the newest value at the right edge and the top value at the upper one', () => {
    expect(linePoints([0, 200], 200)).toBe('98.3,19.0 100.0,1.0');
  });

  it('shows no more than the last sixty values', () => {
    const points = linePoints(Array(100).fill(1), 2).split(' ');
    expect(points.length).toBe(60);
    expect(points[0]).toBe('0.0,10.0');
  });

  it('cuts off what is above the top', () => {
    expect(linePoints([500], 100)).toBe('100.0,1.0');
  });

  it('is empty without values', () => {
    expect(linePoints([], 100)).toBe('');
  });
});

describe('The language of the page', () => {
  afterEach(() => setLanguage('en'));

  it.each([
    ['en', '12,345', '1.50 KiB'],
    ['de_DE', '12.345', '1,50 KiB']
  ])('%s writes numbers in its way', (code, count, bytes) => {
    setLanguage(code);
    expect([formatCount(12345), formatBytes(1536)]).toEqual([count, bytes]);
  });

  it('changes nothing where the browser does not know it', () => {
    setLanguage('no language');
    expect(formatCount(12345)).toBe('12,345');
  });
});
