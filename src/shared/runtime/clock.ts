/** The only source of the current time outside tests: milliseconds since the Unix epoch. */
export type Clock = () => number;

export const systemClock: Clock = Date.now;
