import type { Clock } from '../../../shared/runtime/clock.ts';

/** Two clocks of this machine, both in milliseconds, with fractions. */
export interface LocalTime {
  /** Time since 1970. Someone can set this clock. */
  readonly wall: Clock;
  /** Time since an unspecified moment. Nobody can set this clock. */
  readonly steady: Clock;
}

export const systemTime: LocalTime = { wall: Date.now, steady: () => performance.now() };
