/**
 * Our icon: warp threads behind glass, and the weft that goes through them.
 */
import { LabIcon } from '@jupyterlab/ui-components';

const SVG = `<svg xmlns="http://www.w3.org/2000/svg" width="16" viewBox="0 0 24 24" fill="none">
  <g class="jp-icon3" stroke="#616161" stroke-width="1.8" stroke-linecap="round">
    <rect class="jp-icon3" x="3" y="3" width="18" height="18" rx="4" stroke="#616161"/>
    <path class="jp-icon3" d="M8 3v6.2M8 14.8V21M12 3v11M12 19v2M16 3v1.6M16 11.4V21" stroke="#616161"/>
    <path class="jp-icon3" d="M3 12c3 0 3.4 4 6.6 4S13.5 8 17 8c2 0 2.6 1.6 4 1.6" stroke="#616161"/>
  </g>
</svg>`;

export const glassloomIcon = new LabIcon({
  name: 'glassloom:loom',
  svgstr: SVG
});
