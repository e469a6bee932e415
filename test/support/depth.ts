/** True in `npm run test:long`, which runs everything; `npm test` runs a part of the expensive tests. */
export const isLong = process.env.TEST_LONG === '1';

/** How often to try: `full` in `npm run test:long`, `gate` in `npm test`. */
export const tries = (full: number, gate: number): number => (isLong ? full : gate);

/** True in `npm run test:faults`, which breaks every part in every way; `npm test` breaks a few. */
export const isFaults = process.env.TEST_FAULTS === '1';
