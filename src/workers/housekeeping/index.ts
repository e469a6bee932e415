/** Hourly cleanup. */
export { createSweepProcessor } from './sweep.ts';
