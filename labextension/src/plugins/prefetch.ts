/**
 * Lets the browser fetch scripts before the page that needs them is opened. Nothing of them is run here.
 */

/** Fetch scripts of JupyterLab's own origin, each once; a page of another origin would not find them in the browser's cache. */
export function prefetchScripts(addresses: string[]): void {
  for (const address of addresses) {
    const isKnown = Array.from(
      document.querySelectorAll<HTMLLinkElement>('link[rel="prefetch"]')
    ).some(({ href }) => href === address);
    if (!isKnown && new URL(address).origin === window.location.origin) {
      const link = document.createElement('link');
      link.rel = 'prefetch';
      link.as = 'script';
      link.href = address;
      document.head.append(link);
    }
  }
}
