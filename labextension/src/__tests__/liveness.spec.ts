import { Liveness, OPENING_MS, SILENCE_MS } from '../model/liveness';

describe('Liveness', () => {
  it('is opening until the page speaks, then live', () => {
    const liveness = new Liveness(0);
    expect(liveness.state).toBe('opening');
    liveness.hear(100);
    expect(liveness.state).toBe('live');
  });

  it('loses a page that was live after six seconds of silence, and probes at once', () => {
    const liveness = new Liveness(0);
    liveness.hear(0);
    expect(liveness.tick(SILENCE_MS, false)).toBe('none');
    expect(liveness.state).toBe('live');
    expect(liveness.tick(SILENCE_MS + 1, false)).toBe('probe');
    expect(liveness.state).toBe('lost');
  });

  it('gives a page that is being opened more time', () => {
    const liveness = new Liveness(0);
    expect(liveness.tick(OPENING_MS, false)).toBe('none');
    expect(liveness.tick(OPENING_MS + 1, false)).toBe('probe');
  });

  it('does not probe twice at the same time', () => {
    const liveness = lost();
    expect(liveness.tick(SILENCE_MS + 60_000, false)).toBe('none');
  });

  it('loads the page again once a probe is answered', () => {
    const liveness = lost();
    expect(liveness.probed(true, 10_000)).toBe('reload');
    expect(liveness.state).toBe('opening');
  });

  it('probes ever more rarely while nobody answers', () => {
    const liveness = lost();
    const delays = [];
    let now = 10_000;
    for (let round = 0; round < 7; round++) {
      const failedAt = now;
      liveness.probed(false, now);
      while (liveness.tick(now, false) === 'none') {
        now += 100;
      }
      delays.push(now - failedAt);
    }
    expect(delays).toEqual([500, 1000, 2000, 4000, 8000, 10000, 10000]);
  });

  it('is lost at once when the dashboards say that they cannot start', () => {
    const liveness = new Liveness(0);
    expect(liveness.probed(false, 100)).toBe('none');
    expect(liveness.state).toBe('lost');
    expect(liveness.tick(599, false)).toBe('none');
    expect(liveness.tick(600, false)).toBe('probe');
  });

  it('needs no reload when the page speaks again by itself', () => {
    const liveness = lost();
    liveness.hear(8_000);
    expect(liveness.probed(true, 8_100)).toBe('none');
    expect(liveness.state).toBe('live');
  });

  it('does not judge a page while the tab is hidden', () => {
    const liveness = new Liveness(0);
    liveness.hear(0);
    expect(liveness.tick(3_600_000, true)).toBe('none');
    expect(liveness.tick(3_600_000 + SILENCE_MS, false)).toBe('none');
    expect(liveness.state).toBe('live');
  });
});

/** Return a page that was live, fell silent and is being probed. */
function lost(): Liveness {
  const liveness = new Liveness(0);
  liveness.hear(0);
  expect(liveness.tick(SILENCE_MS + 1, false)).toBe('probe');
  return liveness;
}
