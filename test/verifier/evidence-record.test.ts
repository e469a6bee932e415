import { describe, expect, it } from 'vitest';
import { encodeEvidenceRecord } from '../../src/shared/rfc3161/ers/encode.ts';
import { isEvidenceRecord, verifyEvidence } from '../../src/shared/rfc3161/ers/verify.ts';
import { verifyToken } from '../../src/shared/rfc3161/tsp/verify.ts';
import { DIGEST_OCTETS } from '../../src/shared/rfc3161/x509/algorithms.ts';
import { createTrustStore } from '../../src/shared/rfc3161/x509/trust-store.ts';
import { createRecordLab, hash, imprintOf } from '../support/record-lab.ts';
import { LAB_NOW_MS } from '../support/tsa-lab.ts';

const lab = createRecordLab();
const trust = createTrustStore({ anchors: [lab.tsa.pki.root.certificate] });
const digest = hash('sha256', Buffer.from('the document'));
const algorithms = ['sha256', 'sha384', 'sha512'] as const;

describe('the evidence record of one token', () => {
  it.each(algorithms)('makes the claims of its token, for the same %s', async (algorithm) => {
    const imprint = imprintOf(hash(algorithm, Buffer.from('the document')), algorithm);
    const token = lab.stamp(imprint);
    const record = encodeEvidenceRecord(algorithm, { token });
    const result = await lab.judge(record, [imprint]);
    expect(result).toMatchObject({ ok: true, imprint, token: record, unchecked: ['revocation'] });
    const own = await verifyToken(token, { trust, nowMs: LAB_NOW_MS, expected: imprint });
    for (const member of ['genTimeText', 'serial', 'policy', 'signer', 'chain', 'nonce'] as const)
      expect(result).toHaveProperty(member, own.ok && own[member]);
  });

  it('says until when it holds, and its subject if none is given', async () => {
    const record = encodeEvidenceRecord('sha256', { token: lab.stamp(imprintOf(digest)) });
    const result = await lab.judge(record);
    if (!result.ok) throw new Error(result.code);
    const ends = result.chain.map(({ notAfter }) => notAfter.getTime());
    expect(result.record?.holdsUntil.getTime()).toBe(Math.min(...ends));
    expect(result).toMatchObject({ imprint: { digest }, unchecked: ['imprint', 'revocation'] });
  });
});

describe('a batch', () => {
  it.each([1, 2, 3, 7, 64])('of %i: each record proves only its own hash', async (size) => {
    const { digests, recordOf } = lab.batch(size);
    for (const [i, own] of digests.entries()) {
      expect(await lab.judge(recordOf(i), [imprintOf(own)])).toMatchObject({ ok: true, imprint: imprintOf(own) });
      expect(await lab.judge(recordOf(i))).toMatchObject({ ok: true, imprint: imprintOf(own) });
      const other = digests[(i + 1) % size]!;
      if (size > 1) expect(await lab.judge(recordOf(i), [imprintOf(other)])).toMatchObject({ ok: false, code: 'evidence_imprint_missing' });
    }
  });

  it.each(algorithms)('of %s has one hash in each list, of that length, and no more lists than the tree has levels', (algorithm) => {
    const { treeOf } = lab.batch(7, algorithm);
    for (let i = 0; i < 7; i++) {
      const lists = treeOf(i);
      expect(lists.map((list) => list.length)).toEqual(lists.map(() => 1));
      expect(lists.flat().every((one) => one.length === DIGEST_OCTETS[algorithm])).toBe(true);
      expect(lists.length).toBeLessThanOrEqual(2 + 3);
    }
  });

  it.each(algorithms)('of %s is verified in its own algorithm', async (algorithm) => {
    const { digests, recordOf } = lab.batch(3, algorithm);
    expect(await lab.judge(recordOf(2), [imprintOf(digests[2]!, algorithm)])).toMatchObject({ ok: true });
  });

  it('does not reveal the hashes of others', () => {
    const { digests, recordOf } = lab.batch(8);
    for (const [i] of digests.entries()) {
      const others = digests.filter((_, j) => j !== i);
      expect(others.some((other) => recordOf(i).includes(other))).toBe(false);
      expect(others.some((other) => recordOf(i).includes(hash('sha256', other)))).toBe(false);
    }
  });
});

describe('hash trees of others (RFC 4998 §4.3)', () => {
  const [a, b, c, d] = ['a', 'b', 'c', 'd'].map((text) => hash('sha256', Buffer.from(text))) as [Buffer, Buffer, Buffer, Buffer];
  const sorted = (...hashes: readonly Buffer[]) => hash('sha256', ...[...hashes].sort(Buffer.compare));

  it('may have several hashes in its lists, in any order', async () => {
    const token = lab.stamp(imprintOf(sorted(sorted(a, b, digest), c, d)));
    for (const first of [
      [a, b, digest],
      [digest, b, a],
    ]) {
      const record = encodeEvidenceRecord('sha256', { reducedHashtree: [first, [d, c]], token });
      for (const one of first) expect(await lab.judge(record, [imprintOf(one)])).toMatchObject({ ok: true, imprint: imprintOf(one) });
      for (const one of [c, d]) expect(await lab.judge(record, [imprintOf(one)])).toMatchObject({ code: 'evidence_imprint_missing' });
    }
  });

  it('has no subject if its first list has several hashes and none is given', async () => {
    const record = encodeEvidenceRecord('sha256', { reducedHashtree: [[a, digest]], token: lab.stamp(imprintOf(sorted(a, digest))) });
    expect(await lab.judge(record)).toMatchObject({ ok: false, code: 'evidence_hash_needed' });
    expect(await lab.judge(record, [imprintOf(digest)])).toMatchObject({ ok: true });
  });

  it('may be one list with one hash, the imprint of the token', async () => {
    const record = encodeEvidenceRecord('sha256', { reducedHashtree: [[digest]], token: lab.stamp(imprintOf(digest)) });
    expect(await lab.judge(record, [imprintOf(digest)])).toMatchObject({ ok: true });
  });
});

describe('the function for both kinds', () => {
  it('compares the digest of the document with a record only', async () => {
    const imprint = imprintOf(digest);
    const token = lab.stamp(imprint);
    const { answer } = lab.tsa.specimen({ ask: { digest } });
    for (const given of [token, answer, encodeEvidenceRecord('sha256', { token })]) {
      const [own, other] = await Promise.all(
        [imprint, imprintOf(hash('sha256', digest))].map((one) => verifyEvidence(given, { trust, nowMs: LAB_NOW_MS, digests: [one] })),
      );
      expect(own).toMatchObject({ ok: true, imprint });
      expect(other).toMatchObject(isEvidenceRecord(given) ? { code: 'imprint_mismatch' } : { ok: true });
    }
  });

  it('accepts nothing else as a record', () => {
    for (const bytes of [Buffer.alloc(0), Buffer.from([0x30]), lab.stamp(imprintOf(digest)), lab.tsa.specimen().answer])
      expect(isEvidenceRecord(bytes)).toBe(false);
  });
});
