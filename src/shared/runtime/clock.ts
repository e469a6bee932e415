/** Returns a time in milliseconds. Code takes a `Clock` as an argument, so that tests can set the time. */
export type Clock = () => number;

/** Milliseconds since the Unix epoch. It jumps when somebody sets the machine's clock, so it does not measure durations. */
export const systemClock: Clock = Date.now;

/** Milliseconds since this process started. It never jumps, so it measures durations inside one process. It says nothing to other processes. */
export const monotonic: Clock = () => performance.now();
