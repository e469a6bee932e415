import type { Redis } from 'ioredis';
import type { Logger } from '../runtime/log.ts';
import type { RateSettings } from '../trust/providers-file.ts';
import { type Breaker, openBreaker } from './breaker.ts';
import { openRequestRate, type RequestRate } from './request-rate.ts';

/** What all workers together note about the providers in Redis. */
export interface ProviderNotes {
  /** @param longestPauseMs the longest pause between tries of a provider that fails */
  breakerOf(name: string, longestPauseMs: number): Breaker;
  /** @param longestMs the longest time of one request, in milliseconds */
  rateOf(name: string, settings: RateSettings, longestMs: number): RequestRate;
}

export const openProviderNotes = ({ redis, log }: { redis: Redis; log: Logger }): ProviderNotes => ({
  breakerOf: (name, longestPauseMs) => openBreaker({ redis, name, longestPauseMs, log }),
  rateOf: (name, settings, longestMs) => openRequestRate({ redis, name, settings, longestMs, log }),
});
