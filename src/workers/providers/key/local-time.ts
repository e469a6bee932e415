import type { Clock } from '../../../shared/runtime/clock.ts';

/** Two clocks of this machine, both in milliseconds, with fractions. */
export interface LocalTime {
  /** Since the epoch; somebody may set it. */
  readonly wall: Clock;
  /** Since any moment; nobody can set it. */
  readonly steady: Clock;
}

export const systemTime: LocalTime = { wall: Date.now, steady: () => performance.now() };
