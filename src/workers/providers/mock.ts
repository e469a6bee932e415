import type { KeyObject } from 'node:crypto';
import { issueMockToken } from '../../shared/domain/mock-token.ts';
import type { Clock } from '../../shared/runtime/clock.ts';
import { ProviderError, type TimestampProvider } from './provider.ts';

/** The name that stamps of the mock provider carry. */
export const mockProviderName = 'mock';

/** A provider that needs no account: authenticated by the service's own key, never qualified. */
export function createMockProvider(deps: { key: () => Promise<KeyObject>; clock: Clock }): TimestampProvider {
  return {
    name: mockProviderName,
    isQualified: false,
    stamp: async ({ tokenId, hash, tier, requiresQualified }) => {
      if (requiresQualified) throw new ProviderError('a qualified stamp was asked for, and the mock provider is not qualified');
      const timeMs = deps.clock();
      return {
        provider: mockProviderName,
        isQualified: false,
        issuedAt: new Date(timeMs).toISOString(),
        token: issueMockToken(await deps.key(), { tokenId, hash, timeMs, tier }),
      };
    },
  };
}
