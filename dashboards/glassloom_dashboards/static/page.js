// What the page tells the dashboards process and its parent (the JupyterLab pane), and hears from them. The plots
// themselves are Bokeh's.
//
// The page is there before its document: this asks for that once BokehJS has come, and puts its roots in their places.
//
// Each frame ends with its number; the page answers with it once it is shown. No frame for a while, though the socket is
// open, means that the process doesn't respond.
(() => {
  const ALIVE_EVERY_MS = 2000;
  const RETRY_EVERY_MS = 2000;
  const LOOK_EVERY_MS = 500;
  // Three times what the process takes between two frames at most (pacing.py).
  const SILENCE_MS = 6000;
  const THEMES = ['light', 'dark', 'high-contrast'];
  const LOST = 'Connection lost. Trying to reconnect …';
  const FAILED =
    'This page could not be opened; the log of the dashboards may say why. Trying again …';
  const alone = window.parent === window;
  let connected = false;
  let heardAtMs = 0;
  let lookedAtMs = 0;
  let answered = null;
  let failed = false;

  const bokehDocument = () =>
    (window.Bokeh && window.Bokeh.documents[0]) || null;
  const model = name => bokehDocument()?.get_model_by_name(name) ?? null;

  // A pane behind another tab of JupyterLab is hidden though the browser's tab isn't.
  const isVisible = () =>
    !document.hidden && (window.frameElement?.checkVisibility() ?? true);

  const isSilent = () => performance.now() - heardAtMs > SILENCE_MS;

  const tellParent = type => {
    if (!alone) {
      // To JupyterLab of whatever origin: who may frame a page is the server's to say.
      window.parent.postMessage({ type }, '*');
    }
  };

  const sayAlive = () => {
    if (connected && !isSilent()) {
      tellParent('glassloom:alive');
    }
  };

  const setTheme = theme => {
    if (!THEMES.includes(theme)) {
      return;
    }
    document.documentElement.dataset.theme = theme;
    const known = model('glassloom-theme');
    if (known && known.tags[0] !== theme) {
      known.tags = [theme];
    }
  };

  // Alone in a browser nobody else says which theme there is.
  const preferredTheme = () => {
    const prefers = what => window.matchMedia(`(prefers-${what})`).matches;
    if (!alone || new URLSearchParams(window.location.search).has('theme')) {
      return document.documentElement.dataset.theme;
    }
    if (prefers('contrast: more')) {
      return 'high-contrast';
    }
    return prefers('color-scheme: dark') ? 'dark' : 'light';
  };

  const answer = (number, visible) => {
    const said = `${number} ${visible}`;
    if (connected && said !== answered) {
      answered = said;
      model('glassloom-shown').tags = [number, visible];
    }
  };

  // A paused page is drawn for its viewer's new size, but not for sizes that it has taken by itself.
  const sendWindow = () => {
    if (connected && isVisible()) {
      const { innerWidth, innerHeight } = window;
      model('glassloom-window').tags = [innerWidth, innerHeight];
    }
  };

  const onFrame = () => {
    heardAtMs = performance.now();
    showNotice();
    const number = model('glassloom-frame').tags[0];
    if (isVisible()) {
      // Runs when the browser has got round to drawing, and not at all while it doesn't draw.
      requestAnimationFrame(() => answer(number, true));
    } else {
      answer(number, false);
    }
  };

  // Not only on events: no event tells that the pane has been put behind another tab.
  const look = () => {
    const nowMs = performance.now();
    if (nowMs - lookedAtMs > SILENCE_MS / 2) {
      heardAtMs = nowMs; // This page stood still, so its not having heard anything means nothing.
    }
    lookedAtMs = nowMs;
    if (!connected) {
      return;
    }
    const number = model('glassloom-frame').tags[0];
    if (!isVisible()) {
      answer(number, false);
    } else if (answered !== null && answered.endsWith('false')) {
      answer(number, true);
    }
    showNotice();
  };

  const showNotice = () => {
    let words = connected || heardAtMs === 0 ? '' : LOST;
    words = failed ? FAILED : words;
    if (connected && isSilent()) {
      const seconds = Math.round((performance.now() - heardAtMs) / 1000);
      words = `The dashboards are not responding. What is shown is ${seconds} s old.`;
    }
    const notice = document.getElementById('lost');
    if (notice.textContent !== words) {
      notice.textContent = words;
      notice.hidden = words === '';
      // The strip's badge says so, too: what it says otherwise came before.
      document.documentElement.toggleAttribute('data-stale', words !== '');
    }
  };

  // A plot is a picture: its name says its numbers, and a button puts a table in its place.

  const nameFigures = () => {
    for (const [card, words, isEmpty] of model('glassloom-summaries').tags) {
      const section = document.getElementById(`card-${card}`);
      section.hidden = words === '';
      section.toggleAttribute('data-empty', isEmpty);
      const body = document.querySelector(`#card-${card} .body`);
      const name = `${document.querySelector(`#card-${card} h2`).textContent}: ${words}`;
      if (body.getAttribute('aria-label') !== name) {
        body.setAttribute('aria-label', name);
      }
    }
  };

  const tableButtons = () => [...document.querySelectorAll('.as-table')];

  const sendTables = () => {
    const shown = tableButtons().filter(
      button => button.getAttribute('aria-pressed') === 'true'
    );
    model('glassloom-tables').tags = shown.map(button => button.dataset.card);
  };

  const toggleTable = button => {
    const shows = button.getAttribute('aria-pressed') !== 'true';
    button.setAttribute('aria-pressed', String(shows));
    const card = document.getElementById(`card-${button.dataset.card}`);
    card.dataset.shown = shows ? 'table' : 'plot';
    if (connected) {
      sendTables();
    }
  };

  const onClick = event => {
    const button = event.target.closest?.('.as-table');
    if (button) {
      toggleTable(button);
    }
  };

  // Alone in a browser nobody else reloads the page once the server is back.
  const reloadWhenBack = async () => {
    const here = window.location.href.split(/[?#]/)[0];
    const health = window.glassloom.loggedIn(new URL('../health', here));
    try {
      if ((await fetch(health, { cache: 'no-store' })).ok) {
        return window.location.reload();
      }
    } catch {
      // Still gone.
    }
    setTimeout(reloadWhenBack, RETRY_EVERY_MS);
  };

  const onLost = () => {
    connected = false;
    showNotice();
    tellParent('glassloom:lost');
    if (alone) {
      setTimeout(reloadWhenBack, RETRY_EVERY_MS);
    }
  };

  const socketUrl = () => {
    const { protocol, host, pathname } = window.location;
    const scheme = protocol === 'https:' ? 'wss' : 'ws';
    return `${scheme}://${host}${pathname.replace(/\/+$/, '')}/ws`;
  };

  const placeOf = (root, places) =>
    document.getElementById(`${places.get(root.name) ?? 'hidden'}-place`);

  const showTableButtons = () => {
    for (const button of tableButtons()) {
      const { card } = button.dataset;
      if (model(`${card}-table`)) {
        button.hidden = false;
        const body = document.querySelector(`#card-${card} .body`);
        body.setAttribute('role', 'figure');
      }
    }
  };

  // Before Bokeh measures the page, which it else would again: nothing is painted until its views are there.
  const makeRoom = () => {
    for (const first of document.querySelectorAll('#opening, p.first')) {
      first.remove();
    }
    setTheme(preferredTheme());
    showTableButtons();
    nameFigures();
  };

  const openDocument = async () => {
    const { token } = JSON.parse(
      document.getElementById('session').textContent
    );
    window.glassloomSpeed.spare(window.Bokeh);
    // Bokeh asks for the place of each root by its number, once it has the document.
    let places = null;
    const elements = new Proxy([], {
      get: (_, number) => {
        if (places === null) {
          places = new Map(model('glassloom-places').tags);
          makeRoom();
        }
        return placeOf(bokehDocument().all_roots[number], places);
      }
    });
    try {
      await window.Bokeh.embed.add_document_from_session(
        socketUrl(),
        token,
        document.body,
        elements,
        true
      );
    } catch {
      failed = true;
      showNotice();
      return setTimeout(reloadWhenBack, RETRY_EVERY_MS);
    }
    // Cards that are HTML answer from here on.
    document.dispatchEvent(new Event('glassloom-opened'));
    document.documentElement.toggleAttribute('data-opened', true);
    onOpened();
  };

  const onOpened = () => {
    connected = true;
    heardAtMs = performance.now();
    bokehDocument().on_event('connection_lost', onLost);
    model('glassloom-frame').properties.tags.change.connect(onFrame);
    model('glassloom-summaries').properties.tags.change.connect(nameFigures);
    sendTables();
    sendWindow();
    onFrame();
    sayAlive();
  };

  window.addEventListener('message', event => {
    if (
      event.source === window.parent &&
      event.data &&
      event.data.type === 'glassloom:theme'
    ) {
      setTheme(event.data.theme);
    }
  });
  document.addEventListener('visibilitychange', look);
  document.addEventListener('click', onClick);
  window.addEventListener('resize', sendWindow);
  setInterval(sayAlive, ALIVE_EVERY_MS);
  setInterval(look, LOOK_EVERY_MS);
  setTheme(preferredTheme());
  document.addEventListener('DOMContentLoaded', () => {
    document.getElementById('ways').hidden = !alone;
    for (const link of document.querySelectorAll('#ways a')) {
      link.href = window.glassloom.loggedIn(link.href);
    }
  });
  // BokehJS is loaded by then.
  document.addEventListener('DOMContentLoaded', openDocument);
})();
