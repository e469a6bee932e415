/** Returns the current time in milliseconds since the Unix epoch. Code takes a `Clock` as an argument, so that tests can set the time. */
export type Clock = () => number;

export const systemClock: Clock = Date.now;
