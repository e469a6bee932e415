/** Returns a time in milliseconds. Code takes a `Clock` as an argument, so that tests can set the time. */
export type Clock = () => number;

/** Milliseconds since the Unix epoch. It jumps when somebody sets the machine's clock, so durations are measured by `performance.now()`. */
export const systemClock: Clock = Date.now;
