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

  it('loses a page that says so at once, and probes', () => {
    const liveness = new Liveness(0);
    liveness.hear(0);
    liveness.hear(SILENCE_MS + 1);
    liveness.lose(SILENCE_MS + 2);
    expect(liveness.state).toBe('lost');
    expect(liveness.tick(SILENCE_MS + 2, false)).toBe('probe');
    expect(liveness.probed(true, SILENCE_MS + 3)).toBe('reload');
  });

  it('loads a page that loses its connection each time ever more rarely', () => {
    const liveness = new Liveness(0);
    const delays = [];
    let now = 0;
    for (let round = 0; round < 4; round++) {
      liveness.hear(now);
      liveness.lose(now + 1);
      const lostAt = now + 1;
      while (liveness.tick(now, false) === 'none') {
        now += 1;
      }
      delays.push(now - lostAt);
      liveness.probed(true, now);
    }
    expect(delays).toEqual([500, 1000, 2000, 4000]);
    liveness.hear(now);
    liveness.hear(now + SILENCE_MS + 1);
    liveness.lose(now + SILENCE_MS + 2);
    expect(liveness.tick(now + SILENCE_MS + 2, false)).toBe('probe');
  });

  it('does not lose a page that is being loaded again because the page before it was lost', () => {
    const liveness = lost();
    liveness.probed(true, 10_000);
    liveness.lose(10_100);
    expect(liveness.state).toBe('opening');
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
