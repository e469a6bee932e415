import type { Clock } from '../../../shared/runtime/clock.ts';

/** Two clocks of this machine, both in milliseconds, with fractions. */
export interface LocalTime {
  /** Since the epoch; it can be set. */
  readonly wall: Clock;
  /** Since any moment; it cannot be set. */
  readonly steady: Clock;
}

export const systemTime: LocalTime = { wall: Date.now, steady: () => performance.now() };
