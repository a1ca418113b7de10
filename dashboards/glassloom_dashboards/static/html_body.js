// Cards that are HTML (html_body.py): puts what differs into the page, and tells the dashboards process what was asked for.
(() => {
  const TYPING_MS = 200;
  const AT_END_PX = 24;
  let asked = 0;
  // What was typed and isn't asked for yet: a card, what, which.
  let typed = null;
  let typing = null;

  const model = name => window.Bokeh.documents[0].get_model_by_name(name);
  const keyOf = node => node.dataset?.key ?? null;

  // Make `known` like `next`, and keep its elements: they may have the focus, a scroll position or selected text.

  const morphAttributes = (known, next) => {
    for (const { name } of [...known.attributes]) {
      if (!next.hasAttribute(name)) {
        known.removeAttribute(name);
      }
    }
    for (const { name, value } of next.attributes) {
      if (known.getAttribute(name) !== value) {
        known.setAttribute(name, value);
      }
    }
  };

  const morph = (known, next) => {
    if (known.isEqualNode(next)) {
      return;
    }
    if (known.nodeName !== next.nodeName || keyOf(known) !== keyOf(next)) {
      known.replaceWith(next);
    } else if (known.nodeType === Node.ELEMENT_NODE) {
      morphAttributes(known, next);
      morphChildren(known, next);
    } else {
      known.nodeValue = next.nodeValue;
    }
  };

  const morphChildren = (known, next) => {
    const wanted = new Set([...next.children].map(keyOf));
    const byKey = new Map();
    for (const child of [...known.children]) {
      const key = keyOf(child);
      if (key !== null && !wanted.has(key)) {
        child.remove();
      } else if (key !== null) {
        byKey.set(key, child);
      }
    }
    let place = known.firstChild;
    for (const child of [...next.childNodes]) {
      const key = keyOf(child);
      const same = key === null ? place : byKey.get(key);
      if (!same || keyOf(same) !== key) {
        known.insertBefore(child, place);
        continue;
      }
      if (same === place) {
        place = place.nextSibling;
      } else {
        known.insertBefore(same, place);
      }
      morph(same, child);
    }
    while (place) {
      const gone = place;
      place = place.nextSibling;
      gone.remove();
    }
  };

  const show = (view, html) => {
    const next = document.createElement('template');
    next.innerHTML = html;
    view.hidden = html === '';
    const focused = document.activeElement;
    morphChildren(view, next.content);
    if (focused !== document.activeElement && focused?.isConnected) {
      focused.focus({ preventScroll: true });
    }
    for (const lines of view.querySelectorAll('[data-follow="true"]')) {
      lines.scrollTop = lines.scrollHeight;
    }
  };

  // What is asked for: [a number that differs each time, what, which].

  const send = (card, action, value) => {
    asked += 1;
    model(`${card}-ask`).tags = [asked, action, value];
  };

  const askTyped = () => {
    clearTimeout(typing);
    const last = typed;
    typed = null;
    if (last) {
      send(...last);
    }
  };

  const askCard = (card, action, value) => {
    askTyped();
    send(card, action, value);
  };

  const cardOf = element => element.closest('.card').id.replace('card-', '');

  const ask = (element, action, value) => {
    const card = cardOf(element);
    askCard(card, action, value);
    if (card === 'task' && action === 'close') {
      window.history.pushState(null, '', window.glassloom.themed('task'));
    }
  };

  // A task: on its own page without loading that anew, so that going back works.

  const taskOf = url =>
    new URL(url, window.location.href).searchParams.get('open');

  const follow = href => {
    if (!href.startsWith('task?') || !document.getElementById('card-task')) {
      return window.glassloom.openPage(href);
    }
    window.history.pushState(null, '', window.glassloom.themed(href));
    askCard('task', 'open', taskOf(href) ?? '');
  };

  const onBack = () => {
    if (document.getElementById('card-task')) {
      askCard('task', 'open', taskOf(window.location.href) ?? '');
    }
  };

  const onClick = event => {
    const link = event.target.closest('.view a');
    const plain = !(event.ctrlKey || event.metaKey || event.shiftKey);
    if (link && plain) {
      event.preventDefault();
      follow(link.getAttribute('href'));
    }
    const element = link ? null : event.target.closest('[data-ask]');
    const isRow = element?.tagName === 'TR';
    if (!element || !(isRow || element.tagName === 'BUTTON')) {
      return;
    }
    if (!isRow || window.getSelection().isCollapsed) {
      ask(element, element.dataset.ask, element.dataset.value ?? '');
    }
  };

  const onInput = event => {
    const element = event.target;
    if (element.tagName === 'INPUT' && element.dataset.ask) {
      clearTimeout(typing);
      typed = [cardOf(element), element.dataset.ask, element.value];
      typing = setTimeout(askTyped, TYPING_MS);
    }
  };

  const onChange = event => {
    const element = event.target;
    if (element.tagName === 'SELECT' && element.dataset.ask) {
      ask(element, element.dataset.ask, element.value);
    }
  };

  const onKey = event => {
    if (event.key === 'Escape') {
      document.querySelector('[data-escape]')?.click();
    }
  };

  // Who scrolls away from the newest lines wants to read: they stop moving.
  const onScroll = event => {
    const lines = event.target;
    if (lines.dataset?.follow === 'true') {
      const below = lines.scrollHeight - lines.scrollTop - lines.clientHeight;
      if (below > AT_END_PX) {
        lines.dataset.follow = 'false';
        ask(lines, 'follow', 'pause');
      }
    }
  };

  // A button that is pressed before the page can answer is answered when it can.
  let early = null;
  const onEarlyClick = event => {
    const button = event.target.closest('.card button[data-ask]');
    const { ask: action, value } = button?.dataset ?? {};
    early = button && { card: button.closest('.card').id, action, value };
  };
  document.addEventListener('click', onEarlyClick);

  const begin = () => {
    for (const card of document.querySelectorAll('.card')) {
      const html = model(`${card.id.replace('card-', '')}-html`);
      if (html) {
        // What the page was sent with stays, as far as it is still so.
        const body = card.querySelector('.body');
        const view =
          body.querySelector('.view.first') ?? document.createElement('div');
        view.className = ['view', ...html.css_classes].join(' ');
        body.append(view);
        html.properties.tags.change.connect(() => show(view, html.tags[0]));
        show(view, html.tags[0]);
      }
    }
    document.addEventListener('click', onClick);
    window.addEventListener('popstate', onBack);
    document.addEventListener('input', onInput);
    document.addEventListener('change', onChange);
    document.addEventListener('keydown', onKey);
    document.addEventListener('scroll', onScroll, true);
    document.removeEventListener('click', onEarlyClick);
    if (early) {
      // The page may have been drawn anew since: one that asks for the same.
      const buttons = document.querySelectorAll(
        `#${early.card} button[data-ask="${early.action}"]`
      );
      [...buttons].find(each => each.dataset.value === early.value)?.click();
    }
  };

  document.addEventListener('glassloom-opened', begin, { once: true });
})();
