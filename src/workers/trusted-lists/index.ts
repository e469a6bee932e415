/** The refresh of the EU trusted lists. */
export { createRefreshProcessor, type RefreshDeps } from './refresh.ts';
