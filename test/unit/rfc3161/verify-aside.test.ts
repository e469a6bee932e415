import fc from 'fast-check';
import { expect, test } from 'vitest';
import { verifyEvidence, verifyEvidenceAside } from '../../../src/shared/rfc3161/ers/verify.ts';
import { verifyResponse, verifyResponseAside } from '../../../src/shared/rfc3161/tsp/verify.ts';
import { createTrustStore } from '../../../src/shared/rfc3161/x509/trust-store.ts';
import { KEY_ALGORITHMS } from '../../../src/tsa/certificate.ts';
import { tries } from '../../support/depth.ts';
import { mutated, mutations } from '../../support/der-mutation.ts';
import { createTsaLab, LAB_NOW_MS } from '../../support/tsa-lab.ts';

test.each(KEY_ALGORITHMS)(
  'with a %s key, whether the signature is computed in the thread pool or not, the verdict is the same',
  async (algorithm) => {
    const { answer, asked, anchors } = createTsaLab(algorithm).specimen();
    const judged = async (bytes: Uint8Array) => {
      // Stores of their own: a signature that one judgement found good is not computed by the other.
      const contextOf = () => ({
        trust: createTrustStore({ anchors }),
        nowMs: LAB_NOW_MS,
        request: asked.der,
        sentAtMs: LAB_NOW_MS,
        receivedAtMs: LAB_NOW_MS,
      });
      const here = [verifyResponse(bytes, contextOf()), verifyEvidence(bytes, contextOf())];
      expect(await Promise.all([verifyResponseAside(bytes, contextOf()), verifyEvidenceAside(bytes, contextOf())])).toEqual(here);
      return here.map((result) => (result.ok ? 'good' : result.code));
    };
    expect(await judged(answer)).toEqual(['good', 'good']);
    const forged = Buffer.from(answer);
    forged[forged.length - 1]! ^= 1;
    expect(await judged(forged)).toEqual(['signature_invalid', 'signature_invalid']);
    await fc.assert(
      fc.asyncProperty(mutations, async (changes) => void (await judged(mutated(answer, changes)))),
      { numRuns: tries(500, 40) },
    );
  },
);
