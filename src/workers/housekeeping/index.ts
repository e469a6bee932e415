/** What is tidied up once an hour. */
export { createSweepProcessor } from './sweep.ts';
