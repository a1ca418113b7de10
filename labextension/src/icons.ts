/**
 * Our icon: warp threads behind glass, and the weft that goes through them; and stars, which JupyterLab has none of.
 */
import { LabIcon } from '@jupyterlab/ui-components';

const LOOM = `<svg xmlns="http://www.w3.org/2000/svg" width="16" viewBox="0 0 24 24" fill="none">
  <g class="jp-icon3" stroke="#616161" stroke-width="1.8" stroke-linecap="round">
    <rect class="jp-icon3" x="3" y="3" width="18" height="18" rx="4" stroke="#616161"/>
    <path class="jp-icon3" d="M8 3v6.2M8 14.8V21M12 3v11M12 19v2M16 3v1.6M16 11.4V21" stroke="#616161"/>
    <path class="jp-icon3" d="M3 12c3 0 3.4 4 6.6 4S13.5 8 17 8c2 0 2.6 1.6 4 1.6" stroke="#616161"/>
  </g>
</svg>`;

const STAR =
  'M12 3.6l2.6 5.3 5.8.8-4.2 4.1 1 5.8-5.2-2.7-5.2 2.7 1-5.8-4.2-4.1 5.8-.8z';

export const glassloomIcon = new LabIcon({
  name: 'glassloom:loom',
  svgstr: LOOM
});

export const starIcon = new LabIcon({
  name: 'glassloom:star',
  svgstr: `<svg xmlns="http://www.w3.org/2000/svg" width="16" viewBox="0 0 24 24"><path class="jp-icon3" fill="#616161" d="${STAR}"/></svg>`
});

export const starOutlineIcon = new LabIcon({
  name: 'glassloom:star-outline',
  svgstr: `<svg xmlns="http://www.w3.org/2000/svg" width="16" viewBox="0 0 24 24" fill="none"><path class="jp-icon3" stroke="#616161" stroke-width="1.6" stroke-linejoin="round" d="${STAR}"/></svg>`
});
