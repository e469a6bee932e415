import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import type { Imprint } from '../../../src/shared/rfc3161/tsp/imprint.ts';
import { verifyToken } from '../../../src/shared/rfc3161/tsp/verify.ts';
import { createTrustStore } from '../../../src/shared/rfc3161/x509/trust-store.ts';
import { LAB_NOW_MS } from '../../support/tsa-lab.ts';

/** Tokens that TSAs of the world made, each with its trust anchor: test/fixtures/real-tokens. */

interface RealToken {
  finding: string;
  token: string;
  anchors: string[];
  intermediates: string[];
  imprintAlg: Imprint['algorithm'];
  imprint: string;
  genTime: string;
  want: 'accept' | 'refuse';
}

const folder = new URL('../../fixtures/real-tokens/', import.meta.url);
const read = (name: string) => readFileSync(new URL(name, folder));
const cases: RealToken[] = JSON.parse(read('cases.json').toString('utf8'));

/** Taken by others, and refused here on purpose: the algorithm is broken, or the CA is not one for time-stamping (41). */
const REFUSED: Readonly<Record<string, string>> = {
  't/862c4c8f041a99f9.tst': 'signature_algorithm_weak',
  't/97986898a974e31b.tst': 'intermediate_eku',
  't/233c18cade23289f.tst': 'eku_not_critical',
};

function judge({ token, anchors, intermediates, imprintAlg, imprint }: RealToken, areCaPurposesIgnored = false, expected = imprint) {
  const trust = createTrustStore({ anchors: anchors.map(read), intermediates: intermediates.map(read), areCaPurposesIgnored });
  return verifyToken(read(token), { trust, nowMs: LAB_NOW_MS, expected: { algorithm: imprintAlg, digest: Buffer.from(expected, 'hex') } });
}

describe('tokens of the world', () => {
  it.each(cases)('$finding: $token', (one) => {
    const code = REFUSED[one.token];
    const result = judge(one);
    if (code !== undefined) expect(result).toMatchObject({ ok: false, code });
    else {
      expect(one.want).toBe('accept');
      expect(result).toMatchObject({ ok: true, imprint: { algorithm: one.imprintAlg, digest: Buffer.from(one.imprint, 'hex') } });
      if (result.ok) expect(result.genTime).toEqual(new Date(one.genTime));
    }
  });

  it.each(cases.filter(({ want, token }) => want === 'accept' && REFUSED[token] === undefined))(
    'is bound to its imprint: $token',
    (one) => {
      const other = `${one.imprint.slice(0, -1)}${one.imprint.endsWith('0') ? '1' : '0'}`;
      expect(judge(one, false, other)).toMatchObject({ ok: false, code: 'imprint_mismatch' });
    },
  );

  it('a CA that is not for time-stamping (41) is taken where that is configured, and the verdict says so', () => {
    const one = cases.find(({ token }) => REFUSED[token] === 'intermediate_eku');
    expect(one && judge(one, true)).toMatchObject({ ok: true, unchecked: expect.arrayContaining(['ca_purposes']) });
  });
});
