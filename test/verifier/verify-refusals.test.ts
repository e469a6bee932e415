import { describe, expect, it } from 'vitest';
import { pem } from '../support/certificates.ts';
import { judge } from '../support/judge.ts';
import { openssl, opensslVerifyAll } from '../support/openssl-tsa.ts';
import { FAULTY_CASES, judged } from '../support/tsa-faults.ts';
import { SIGNATURE_FAULTS } from '../support/tsa-faults-signature.ts';
import { type Case, createTsaLab, LAB_NOW_MS, type Specimen } from '../support/tsa-lab.ts';
import { GOOD_VARIANTS, WIDER_VARIANTS } from '../support/tsa-variants.ts';

/** Tables of tokens, each judged by us and, all in one batch, by OpenSSL. */

const lab = createTsaLab();
const faults = [...FAULTY_CASES, ...judged(SIGNATURE_FAULTS)];
const specimens = new Map<Case, Specimen>([...faults, ...GOOD_VARIANTS, ...WIDER_VARIANTS].map((one) => [one, one.make(lab)]));

const forOpenssl = ({ answer, anchors, asked, withoutRequest }: Specimen) => ({
  answer,
  against: withoutRequest ? { digest: asked.digest.toString('hex') } : { query: asked.der },
  rootPem: anchors.map((der) => pem('CERTIFICATE', der)).join(''),
  atTime: Math.floor(LAB_NOW_MS / 1000),
});
const verdicts = await opensslVerifyAll([...specimens.values()].map(forOpenssl));
const opensslVerdicts = new Map([...specimens.keys()].map((one, index) => [one, verdicts[index]]));
/** Other versions may refuse more. */
const isOpenssl30 = (await openssl('version')).output.startsWith('OpenSSL 3.0.');

describe('tokens that a verifier must refuse', () => {
  it.each(faults)('refusal $refusal, $code: $name (OpenSSL 3.0 accepts it: $opensslAccepts)', async (one) => {
    expect(await judge(specimens.get(one)!)).toMatchObject({ ok: false, code: one.code });
    if (isOpenssl30 || !one.opensslAccepts) expect(opensslVerdicts.get(one)).toBe(one.opensslAccepts);
  });
});

describe('tokens that a verifier must accept', () => {
  it.each([...GOOD_VARIANTS, ...WIDER_VARIANTS])('$name', async (one) => {
    expect(await judge(specimens.get(one)!)).toMatchObject({ ok: true });
    if (GOOD_VARIANTS.includes(one)) expect(opensslVerdicts.get(one)).toBe(true);
  });
});
