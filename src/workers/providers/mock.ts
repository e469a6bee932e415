import type { KeyObject } from 'node:crypto';
import { issueMockToken, mockProviderName } from '../../shared/domain/mock-token.ts';
import { notQualified } from '../../shared/domain/qualification.ts';
import type { Clock } from '../../shared/runtime/clock.ts';
import { TierUnavailableError, type TimestampProvider } from './provider.ts';

/**
 * The mock provider. It needs no account, and its stamps are never qualified. It also makes test stamps for workflows of tier `qualified` (W2). A key of
 * the service authenticates its tokens. It accepts only SHA-256.
 */
export function createMockProvider({ key, clock }: { key: () => Promise<KeyObject>; clock: Clock }): TimestampProvider {
  return {
    name: mockProviderName,
    isQualified: false,
    stamp: async ({ tokenId, imprint: { algorithm, digest }, tier }) => {
      if (algorithm !== 'sha256') throw new TierUnavailableError(`the mock provider stamps only SHA-256, not ${algorithm}`);
      const timeMs = clock();
      return {
        kind: 'mock',
        provider: mockProviderName,
        isQualified: false,
        qualification: notQualified('mock_provider'),
        issuedAt: new Date(timeMs).toISOString(),
        token: issueMockToken(await key(), { tokenId, hash: digest, timeMs, tier }),
      };
    },
    checkQualified: async () => undefined,
  };
}
