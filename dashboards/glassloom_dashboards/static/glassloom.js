// What plots need to do in the browser by themselves: numbers for people, hover cards, and moving the task stream's view.
// Python names these functions in `scripts.py`.
window.glassloom = (() => {
  const BYTE_UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];

  const trim = (value, digits) => String(Number(value.toFixed(digits)));
  const two = number => String(number).padStart(2, '0');

  const scaled = value => {
    let unit = 0;
    while (Math.abs(value) >= 1023.5 && unit < BYTE_UNITS.length - 1) {
      value /= 1024;
      unit += 1;
    }
    return [value, unit];
  };

  // Numbers for people: as in numbers.py, times.py and theme.py.

  const rounded = value => Math.floor(value + 0.5);

  const threeDigits = value => {
    const size = Math.abs(value);
    const digits = size < 9.995 ? 2 : size < 99.95 ? 1 : 0;
    const shown = rounded(size * 10 ** digits) / 10 ** digits;
    return `${value < 0 ? '-' : ''}${shown.toFixed(digits)}`;
  };

  const bytes = value => {
    if (!Number.isFinite(value)) {
      return 'unknown';
    }
    const [shown, unit] = scaled(value);
    return `${unit ? threeDigits(shown) : shown.toFixed(0)} ${BYTE_UNITS[unit]}`;
  };

  const shortDuration = seconds => {
    if (seconds < 999.5e-6) {
      return seconds >= 0.5e-6 ? `${rounded(seconds * 1e6)} µs` : '<1 µs';
    }
    return seconds < 0.9995
      ? `${Number(threeDigits(seconds * 1e3))} ms`
      : `${Number(threeDigits(seconds))} s`;
  };

  const duration = seconds => {
    if (!Number.isFinite(seconds)) {
      return 'unknown';
    }
    if (seconds < 0) {
      return `-${duration(-seconds)}`;
    }
    if (seconds < 59.95) {
      return seconds === 0 ? '0 s' : shortDuration(seconds);
    }
    const whole = rounded(seconds);
    if (whole < 3600) {
      return `${Math.floor(whole / 60)} min ${two(whole % 60)} s`;
    }
    const minutes = rounded(seconds / 60);
    if (minutes < 1440) {
      return `${Math.floor(minutes / 60)} h ${two(minutes % 60)} min`;
    }
    const hours = rounded(seconds / 3600);
    return `${count(Math.floor(hours / 24))} d ${two(hours % 24)} h`;
  };

  const count = value => value.toLocaleString('en');

  const digitsFor = step =>
    Math.min(Math.max(Math.ceil(-Math.log10(step) - 1e-9), 0), 6);

  // Times since the cluster's start: in seconds, and past two minutes as durations are, as exactly as the step asks for.
  const inMinutes = (seconds, step) => {
    const [whole, rest] = seconds.toFixed(digitsFor(step)).split('.');
    const hours = Math.floor(whole / 3600);
    const minutes = Math.floor(whole / 60) % 60;
    const decimals = rest ? `.${rest}` : '';
    if (hours + minutes === 0) {
      return `${whole}${decimals} s`;
    }
    const parts =
      hours > 0 ? [`${hours} h`, `${two(minutes)} min`] : [`${minutes} min`];
    if (step < 60) {
      parts.push(`${two(whole % 60)}${decimals} s`);
    }
    return parts.join(' ');
  };

  const MINUTES_FROM_S = 120;
  const at = (seconds, step) =>
    seconds < MINUTES_FROM_S
      ? `${seconds.toFixed(digitsFor(step))} s`
      : inMinutes(seconds, step);

  // Labels of axes.

  const bytesTick = tick => {
    const [shown, unit] = scaled(tick);
    return tick === 0 ? '0' : `${trim(shown, 1)} ${BYTE_UNITS[unit]}`;
  };

  const secondsTick = (tick, ticks) => {
    const step = ticks.length > 1 ? Math.abs(ticks[1] - ticks[0]) : 1;
    const last = Math.max(...ticks.map(Math.abs));
    if (Math.abs(tick) < 1e-12) {
      return '0';
    }
    if (last < 1) {
      return `${(tick * 1e3).toFixed(digitsFor(step * 1e3))} ms`;
    }
    return last < MINUTES_FROM_S || tick < 0
      ? `${tick.toFixed(digitsFor(step))} s`
      : inMinutes(tick, step);
  };

  // Where there is no room for all labels, of each two, three or more one is shown, so that they stay as far apart.
  const LABELS_APART_PX = 8;
  const evenLabels = (indices, distance) => {
    const all = [...indices];
    for (let step = 1; step < all.length; step++) {
      const shown = all.filter((_, place) => place % step === 0);
      const fits = shown.every(
        (one, place) =>
          place === 0 || distance(shown[place - 1], one) >= LABELS_APART_PX
      );
      if (fits) {
        return shown;
      }
    }
    return all.slice(0, 1);
  };

  const durationTick = tick => {
    if (tick >= 3600) {
      return `${trim(tick / 3600, 2)} h`;
    }
    if (tick >= 60) {
      return `${trim(tick / 60, 2)} min`;
    }
    if (tick >= 1 - 1e-9) {
      return `${trim(tick, 2)} s`;
    }
    return tick >= 1e-3 * (1 - 1e-9)
      ? `${trim(tick * 1e3, 2)} ms`
      : `${trim(tick * 1e6, 2)} µs`;
  };

  // Rows of hover cards: the value of the column that the row belongs to, the models it was given, and which element it is.

  const limit = value => (value === 'none' ? value : bytes(Number(value)));
  const layer = (kind, { names }) => names.data.name[kind] ?? '';
  // As task_words in task_links.py.
  const task = (index, { names, source }, { index: row }) => {
    const kind = source.data.kind[row];
    const first = names.data.first[kind] ?? '';
    if (index === '') {
      return first;
    }
    return names.data.is_text[kind]
      ? `${first}-${index}`
      : `${first}[${index}]`;
  };
  // Lanes aren't equally high. Of a lane's bar everything is within it.
  const laneAt = (y, { name, top }) => {
    let place = name.length - 1;
    while (place > 0 && top[place] > y) {
      place -= 1;
    }
    return name[place] ?? '';
  };
  const lane = (value, { lanes }) => laneAt(value, lanes.data);
  // As exactly as it takes to tell the row from its neighbours.
  const started = (seconds, { source }, { index }) =>
    at(seconds, Math.max(source.data.right[index] - seconds, 1e-6) / 10);
  const sampled = seconds => at(seconds, 0.1);
  const status = ok => (ok ? 'ok' : 'failed');

  // Why a task waited: see stream_waits.py for the numbers.
  const NOT_KNOWN = 255;
  const WHYS = ['', 'for a free worker', "in the worker's queue"];

  const decoded = code => (code === 0 ? 0 : 2 ** ((code - 1) / 1024));

  const waited = (code, { source }, { index }) => {
    const why = source.data.why[index];
    if (why === NOT_KNOWN) {
      return 'not known';
    }
    return why
      ? `${duration(decoded(code) / 1e6)}, mostly ${WHYS[why]}`
      : 'not at all';
  };

  const cpuShare = percent =>
    percent === NOT_KNOWN ? 'not known' : `${percent} %`;

  const codedBytes = code =>
    code === 0xffff ? 'not known' : bytes(Math.round(decoded(code)));

  const ENDS = ['runs', 'lost with its worker', 'ran when the cluster ended'];
  const ends = value => ENDS[value] ?? '';

  const action = (_, { names, source }, { index }) =>
    names.data.action[source.data.kind[index]] ?? '';

  const length = (right, { source }, { index }) =>
    duration(right - source.data.left[index]);

  const lanesOfBin = (_, { lanes, source }, { index }) => {
    const low = laneAt(source.data.top[index], lanes.data);
    const high = laneAt(source.data.bottom[index], lanes.data);
    return low === high ? low : `${low} to ${high}`;
  };

  const tasksOfBin = tasks => {
    if (tasks === 0) {
      return 'part of a longer task';
    }
    return tasks === 1 ? '1 task' : `${count(tasks)} tasks`;
  };

  // What is in view. The browser alone moves it, so that a frame under way never undoes what the user has just zoomed to.

  const placed = new WeakMap();

  const place = (range, [start], [end]) => {
    placed.set(range, [start, end]);
    range.setv({ start, end });
  };

  const isMoved = range => {
    const [start, end] = placed.get(range) ?? [range.start, range.end];
    return range.start !== start || range.end !== end;
  };

  const showLanes = ({ mode, lanes, y_range }) => {
    const { top, bottom } = lanes.data;
    if (mode.active !== null && top.length > 0) {
      place(y_range, bottom, top);
    }
  };

  const showTime = ({ mode, extent, x_range }) => {
    const { left, right } = extent.data;
    if (mode.active !== null && left.length > 0) {
      place(x_range, left, right);
    }
  };

  // What came may have been under way when a person began to move the view: Bokeh tells of that later.

  const followLanes = models =>
    isMoved(models.y_range) ? letGo(models) : showLanes(models);

  const followTime = models =>
    isMoved(models.x_range) ? letGo(models) : showTime(models);

  const letGo = ({ mode }) => {
    mode.active = null;
  };

  const showAll = ({ mode }) => {
    mode.active = 0;
  };

  // Bokeh takes any two clicks in quick succession for a double click.

  const DOUBLE_PX = 12;
  let tapped = { sx: 0, sy: 0 };

  const noteTap = (models, { sx, sy }) => {
    tapped = { sx, sy };
  };

  const doubleTap = (models, { sx, sy }) => {
    if (Math.hypot(sx - tapped.sx, sy - tapped.sy) < DOUBLE_PX) {
      showAll(models);
    }
    tapped = { sx, sy };
  };

  // Bokeh's own reset moves the ranges after this event, which would let go again.
  const reset = models => setTimeout(() => showAll(models), 0);

  // The page of a task.

  const openTask = ({ source }) => {
    const [row] = source.selected.indices;
    source.selected.indices = [];
    openPage(source.data.href[row] ?? '');
  };

  // A front end on another host has no cookie: the token in this page's address is that of all pages.
  const loggedIn = href => {
    const url = new URL(href, window.location.href);
    const token = new URLSearchParams(window.location.search).get('token');
    if (token !== null) {
      url.searchParams.set('token', token);
    }
    return url;
  };

  // A page of the same cluster; the theme stays.
  const themed = href => {
    const url = loggedIn(href);
    url.searchParams.set('theme', document.documentElement.dataset.theme);
    return url;
  };

  const openPage = href => {
    if (/^[a-z-]+(\?|$)/.test(href)) {
      window.location.assign(themed(href));
    }
  };

  return {
    action,
    bytes,
    bytesTick,
    codedBytes,
    count,
    cpuShare,
    doubleTap,
    duration,
    durationTick,
    evenLabels,
    ends,
    followLanes,
    followTime,
    lane,
    lanesOfBin,
    layer,
    length,
    letGo,
    limit,
    loggedIn,
    noteTap,
    openPage,
    openTask,
    reset,
    sampled,
    secondsTick,
    showLanes,
    showTime,
    started,
    status,
    task,
    tasksOfBin,
    themed,
    waited
  };
})();
