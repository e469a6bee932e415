/** Hourly cleanup. */
export { sweep } from './sweep.ts';
