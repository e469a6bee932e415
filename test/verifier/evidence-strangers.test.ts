import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { verifyEvidenceRecord } from '../../src/shared/rfc3161/ers/verify.ts';
import { createTrustStore } from '../../src/shared/rfc3161/x509/trust-store.ts';
import { hash, imprintOf } from '../support/record-lab.ts';

const folder = new URL('../fixtures/evidence-records/', import.meta.url);
const read = (name: string) => readFileSync(new URL(name, folder));
const { madeAt, cases }: { madeAt: string; cases: readonly { file: string; what: string; documents: readonly string[] }[] } = JSON.parse(
  read('cases.json').toString('utf8'),
);
const trust = createTrustStore({ anchors: [read('root.pem')] });
const digestsOf = (document: string) =>
  (['sha256', 'sha384', 'sha512'] as const).map((algorithm) => imprintOf(hash(algorithm, Buffer.from(document)), algorithm));
const judge = (file: string, document: string) =>
  verifyEvidenceRecord(read(file), { trust, nowMs: Date.parse(madeAt), digests: digestsOf(document) });

describe('records of Bouncy Castle (S14)', () => {
  it.each(cases.map((one) => [one.what, one] as const))('%s: accepted for its documents only', async (_what, { file, documents }) => {
    for (const document of documents) expect(await judge(file, document)).toMatchObject({ ok: true, unchecked: ['revocation'] });
    expect(await judge(file, 'another document')).toMatchObject({ ok: false, code: expect.stringMatching(/imprint_mi/) });
  });
});
