/** The refresh of the EU trusted lists. */
export { refreshTrustedLists } from './refresh.ts';
