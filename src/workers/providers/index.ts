/**
 * Providers of time-stamps: the mock, TSAs over HTTP, own keys, and the pool that chooses among them. Only this folder reads passwords of TSAs.
 */
export { checkProvider, type ProviderCheck } from './health.ts';
export { createListings, openProvider, openTsas } from './open-provider.ts';
export { createProviderPool, type ProviderPool } from './pool.ts';
export {
  evidenceTermOf,
  ProviderError,
  RateReachedError,
  type RequestParameters,
  TierUnavailableError,
  type TimestampProvider,
  TimeUnavailableError,
  TsaRefusedError,
} from './provider.ts';
export type { Rfc3161Provider } from './rfc3161.ts';
