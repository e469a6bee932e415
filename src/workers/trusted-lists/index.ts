export { refreshTrustedLists } from './refresh.ts';
