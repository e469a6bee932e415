import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { addTimeStamp, encodeEvidenceRecord, hashTreeRenewalOf, timeStampRenewalOf } from '../../src/shared/rfc3161/ers/encode.ts';
import type { Imprint } from '../../src/shared/rfc3161/tsp/imprint.ts';
import type { Verified } from '../../src/shared/rfc3161/tsp/types.ts';
import { isLong, tries } from '../support/depth.ts';
import { mutated, mutations, versionPlaces } from '../support/der-mutation.ts';
import { createRecordLab, hash, imprintOf } from '../support/record-lab.ts';

const lab = createRecordLab();
const document = Buffer.from('the document');
const digests = (['sha256', 'sha512'] as const).map((algorithm) => imprintOf(hash(algorithm, document), algorithm));

function renewedRecord(): Buffer {
  const [a, b, c] = ['a', 'b', 'c'].map((text) => hash('sha256', Buffer.from(text))) as [Buffer, Buffer, Buffer];
  const sorted = (...hashes: readonly Buffer[]) => hash('sha256', ...[...hashes].sort(Buffer.compare));
  const reducedHashtree = [
    [a, digests[0]!.digest],
    [b, c],
  ];
  const root = imprintOf(sorted(sorted(a, digests[0]!.digest), b, c));
  const first = encodeEvidenceRecord('sha256', { token: lab.stamp(root), reducedHashtree });
  const second = addTimeStamp(first, { token: lab.stamp(timeStampRenewalOf(first).imprint) }, 'last_chain');
  return addTimeStamp(second, { token: lab.stamp(hashTreeRenewalOf(second, digests[1]!).imprint) }, 'sha512');
}

const batch = lab.batch(5);
const records: readonly (readonly [what: string, record: Buffer, of: readonly Imprint[]])[] = [
  ['direct', encodeEvidenceRecord('sha256', { token: lab.stamp(digests[0]!) }), digests.slice(0, 1)],
  ['batched', batch.recordOf(3), [imprintOf(batch.digests[3]!)]],
  ['renewed under two algorithms', renewedRecord(), digests],
];

const statementOfToken = ({ genTimeText, serial, imprint, policy, signer }: Verified) => ({ genTimeText, serial, imprint, policy, signer });

/** The claims of a record. Unsigned parts of its last token may differ: no later token covers them. */
const statementOf = (verified: Verified) => ({
  ...statementOfToken(verified),
  tokens: verified.record?.tokens.map(statementOfToken),
});

describe('a changed record', { timeout: 300_000 }, () => {
  it.each(records)(
    '%s: no octet can change, except the version numbers of the last token, which nobody signs',
    async (_what, record, of) => {
      const good = await lab.judge(record, of);
      if (!good.ok) throw new Error(good.code);
      const { token } = good.record!.tokens.at(-1)!;
      const versions = versionPlaces(token).map((at) => at + record.indexOf(token));
      const accepted: number[] = [];
      const step = isLong ? 1 : 7;
      for (let at = 0; at < record.length; at += step) {
        const bent = Buffer.from(record);
        bent[at]! ^= 0x20;
        const result = await lab.judge(bent, of);
        if (result.ok) accepted.push(at);
        else if (result.code === 'verifier_failed') throw result.cause;
      }
      expect(accepted.filter((at) => !versions.includes(at))).toEqual([]);
    },
  );

  it.each(records)('%s: a record that is still accepted makes the same claims', async (_what, record, of) => {
    const good = await lab.judge(record, of);
    if (!good.ok) throw new Error(good.code);
    const refusals = new Set<string>();
    await fc.assert(
      fc.asyncProperty(mutations, async (list) => {
        const result = await lab.judge(mutated(record, list), of);
        if (result.ok) expect(statementOf(result)).toEqual(statementOf(good));
        else if (result.code === 'verifier_failed') throw result.cause;
        else refusals.add(result.code);
      }),
      { numRuns: tries(2_000, 300), seed: 4998 },
    );
    expect(refusals.size).toBeGreaterThan(5);
  });

  it.each(records)('%s: no part of it is accepted', async (_what, record, of) => {
    for (let length = 0; length < record.length; length += isLong ? 1 : 11)
      expect(await lab.judge(record.subarray(0, length), of)).toMatchObject({ ok: false, code: 'der_truncated' });
  });
});
