/**
 * The names of our commands; the buttons in HTML reprs know them too.
 */
export const CommandIDs = {
  openDashboard: 'glassloom:open-dashboard',
  newCluster: 'glassloom:new-cluster',
  shutDownCluster: 'glassloom:shutdown-cluster',
  closeRecording: 'glassloom:close-recording',
  showPanel: 'glassloom:show-panel'
} as const;

export const PALETTE_CATEGORY = 'Glassloom';
