// What the page tells its parent (the JupyterLab pane) and hears from it; the plots themselves are Bokeh's.
(() => {
  const ALIVE_EVERY_MS = 2000
  const RETRY_EVERY_MS = 2000
  const alone = window.parent === window
  let connected = false

  const bokehDocument = () => (window.Bokeh && window.Bokeh.documents[0]) || null

  const sayAlive = () => {
    if (connected && !alone) window.parent.postMessage({ type: 'glassloom:alive' }, window.location.origin)
  }

  const setTheme = (theme) => {
    if (theme !== 'light' && theme !== 'dark') return
    document.documentElement.dataset.theme = theme
    const model = bokehDocument()?.get_model_by_name('glassloom-theme')
    if (model && model.tags[0] !== theme) model.tags = [theme]
  }

  // Alone in a browser nobody else reloads the page once the server is back.
  const reloadWhenBack = async () => {
    const health = new URL('../health', window.location.href.split(/[?#]/)[0])
    try {
      if ((await fetch(health, { cache: 'no-store' })).ok) return window.location.reload()
    } catch { /* still gone */ }
    setTimeout(reloadWhenBack, RETRY_EVERY_MS)
  }

  const onLost = () => {
    connected = false
    document.getElementById('lost').hidden = false
    if (alone) setTimeout(reloadWhenBack, RETRY_EVERY_MS)
  }

  const waitForSession = () => {
    const bokeh = bokehDocument()
    if (!bokeh) return setTimeout(waitForSession, 50)
    connected = true
    bokeh.on_event('connection_lost', onLost)
    setTheme(document.documentElement.dataset.theme)
    sayAlive()
  }

  window.addEventListener('message', (event) => {
    if (event.origin === window.location.origin && event.data && event.data.type === 'glassloom:theme') setTheme(event.data.theme)
  })
  setInterval(sayAlive, ALIVE_EVERY_MS)
  waitForSession()
})()
