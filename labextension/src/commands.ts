/**
 * The names of our commands; the buttons in HTML reprs and the schemas know them too.
 */
export const CommandIDs = {
  openDashboard: 'glassloom:open-dashboard',
  openLayout: 'glassloom:open-layout',
  saveLayout: 'glassloom:save-layout',
  closeDashboards: 'glassloom:close-dashboards',
  followActive: 'glassloom:follow-active',
  newCluster: 'glassloom:new-cluster',
  insertClient: 'glassloom:insert-client',
  scaleCluster: 'glassloom:scale-cluster',
  restartCluster: 'glassloom:restart-cluster',
  renameCluster: 'glassloom:rename-cluster',
  showLog: 'glassloom:show-log',
  diagnose: 'glassloom:diagnose',
  shutDownCluster: 'glassloom:shutdown-cluster',
  shutDownAll: 'glassloom:shutdown-all',
  openRecording: 'glassloom:open-recording',
  closeRecording: 'glassloom:close-recording',
  saveRuns: 'glassloom:save-runs',
  openRun: 'glassloom:open-run',
  compareRuns: 'glassloom:compare-runs',
  copyRunCode: 'glassloom:copy-run-code',
  export: 'glassloom:export',
  openExport: 'glassloom:open-export',
  downloadExport: 'glassloom:download-export',
  toggleFavourite: 'glassloom:toggle-favourite',
  showPanel: 'glassloom:show-panel'
} as const;

export const PALETTE_CATEGORY = 'Glassloom';

/** What the context menu of a card offers, in this order; so does its button. */
export const CARD_COMMANDS: readonly string[] = [
  CommandIDs.openDashboard,
  CommandIDs.insertClient,
  CommandIDs.scaleCluster,
  CommandIDs.restartCluster,
  CommandIDs.renameCluster,
  CommandIDs.export,
  CommandIDs.showLog,
  CommandIDs.diagnose,
  CommandIDs.shutDownCluster
];
