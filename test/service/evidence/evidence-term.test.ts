import { expect, test } from 'vitest';
import { algorithmPolicy } from '../../../src/shared/domain/algorithm-policy.ts';
import { verifyToken } from '../../../src/shared/rfc3161/index.ts';
import { createTrustStore } from '../../../src/shared/rfc3161/x509/trust-store.ts';
import { evidenceTermOf } from '../../../src/workers/providers/provider.ts';
import type { KeyAlgorithm } from '../../support/certificates.ts';
import { createTsaLab, DAY_MS, LAB_NOW_MS } from '../../support/tsa-lab.ts';

async function verifiedBy(algorithm: KeyAlgorithm, days: number) {
  const lab = createTsaLab(algorithm);
  const identity = lab.signer({ notAfterMs: LAB_NOW_MS + days * DAY_MS });
  const { answer, anchors } = lab.specimen({ profile: { identity } });
  const result = await verifyToken(answer, { trust: createTrustStore({ anchors }), nowMs: LAB_NOW_MS });
  if (!result.ok) throw new Error(result.code);
  return result;
}

const day = (date: Date) => date.toISOString().slice(0, 10);

test('S16: evidence holds until the first certificate of its chain ends', async () => {
  const { endsAt, renewBy } = evidenceTermOf(await verifiedBy('p-256', 100));
  expect(endsAt.getTime()).toBe(Math.floor((LAB_NOW_MS + 100 * DAY_MS) / 1_000) * 1_000);
  expect(renewBy).toEqual(endsAt);
});

test.each(['rsa-2048'] as const)(
  'ETSI TS 119 312: signatures by %s are renewed before 2029, however long the certificates last',
  async (algorithm) => {
    const { endsAt, renewBy } = evidenceTermOf(await verifiedBy(algorithm, 2_000));
    expect(day(renewBy)).toBe('2029-01-01');
    expect(endsAt > renewBy).toBe(true);
    expect(evidenceTermOf(await verifiedBy(algorithm, 100)).renewBy).toEqual(evidenceTermOf(await verifiedBy(algorithm, 100)).endsAt);
  },
);

test('S16: the end of a hash algorithm affects every token that uses it', async () => {
  const ends = [{ concerns: { hash: 'sha256' }, from: new Date('2027-01-01T00:00:00Z'), source: 'test' }] as const;
  expect(day(evidenceTermOf(await verifiedBy('p-256', 2_000), { revision: 'test', ends }).renewBy)).toBe('2027-01-01');
});

test('every row of the policy names its source and a day', () => {
  for (const { from, source } of algorithmPolicy.ends) {
    expect(source).toMatch(/ETSI|SOG-IS/);
    expect(from.toISOString()).toMatch(/T00:00:00\.000Z$/);
  }
});
