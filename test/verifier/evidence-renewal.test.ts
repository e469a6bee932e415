import { describe, expect, it, vi } from 'vitest';
import {
  addTimeStamp,
  encodeEvidenceRecord,
  hashTreeRenewalOf,
  type RenewalHashes,
  timeStampRenewalOf,
} from '../../src/shared/rfc3161/ers/encode.ts';
import { buildHashTree } from '../../src/shared/rfc3161/ers/hash-tree.ts';
import type { DigestAlgorithm } from '../../src/shared/rfc3161/x509/algorithms.ts';
import { createTrustStore } from '../../src/shared/rfc3161/x509/trust-store.ts';
import { issueCrl } from '../support/certificates.ts';
import { createRecordLab, hash, imprintOf, type StampOptions } from '../support/record-lab.ts';
import { createTsaLab, DAY_MS, LAB_NOW_MS } from '../support/tsa-lab.ts';

const lab = createRecordLab();
/** Days after `LAB_NOW_MS`, in whole seconds like in certificates. */
const at = (days: number) => Math.floor(LAB_NOW_MS / 1000) * 1000 + days * DAY_MS;
const content = Buffer.from('the document');
const digest = hash('sha256', content);
const known = [imprintOf(digest)];
const both = [...known, imprintOf(hash('sha512', content), 'sha512')];

/** A TSA whose certificate ends ten days after `LAB_NOW_MS`. */
const ending = lab.tsa.signer({ notBeforeMs: at(-1), notAfterMs: at(10) });
const first = encodeEvidenceRecord('sha256', { token: lab.stamp(known[0]!, { identity: ending }) });

/** The record with its own token over the data to renew. */
function renewed(
  record: Buffer,
  { imprint, firstList }: RenewalHashes,
  options: StampOptions,
  place: 'last_chain' | DigestAlgorithm = 'last_chain',
) {
  const reducedHashtree = firstList.length > 1 ? [firstList] : undefined;
  return addTimeStamp(record, { token: lab.stamp(imprint, options), reducedHashtree }, place);
}
const inTime = (record: Buffer, days: number, options: StampOptions = {}) =>
  renewed(record, timeStampRenewalOf(record), { timeMs: at(days), ...options });

describe('a record whose certificates end', () => {
  it('is valid until then', async () => {
    expect(await lab.judge(first, known, { nowMs: at(10) })).toMatchObject({
      ok: true,
      record: { holdsUntil: new Date(at(10)) },
    });
    expect(await lab.judge(first, known, { nowMs: at(10) + 1000 })).toMatchObject({ ok: false, code: 'evidence_expired' });
  });

  it('stays valid if it was renewed before that (RFC 4998 §5.3)', async () => {
    const record = inTime(first, 9);
    const result = await lab.judge(record, known, { nowMs: at(400) });
    expect(result).toMatchObject({ ok: true, genTime: new Date(LAB_NOW_MS) });
    if (result.ok) expect(result.record?.tokens.map(({ genTime }) => genTime.getTime())).toEqual([LAB_NOW_MS, at(9)]);
  });

  it('is invalid if it was renewed after that', async () => {
    expect(await lab.judge(inTime(first, 11), known, { nowMs: at(12) })).toMatchObject({ ok: false, code: 'evidence_renewed_late' });
  });

  it('can be renewed any number of times, each time before the last certificate ends', async () => {
    let record = first;
    const days = [5, 8, 300];
    for (const [i, day] of days.entries()) {
      const identity = lab.tsa.signer({ notBeforeMs: at(day - 1), notAfterMs: at((days[i + 1] ?? 3000) + 1) });
      record = inTime(record, day, { identity });
      expect(await lab.judge(record, known, { nowMs: at(day) })).toMatchObject({ ok: true });
    }
    const result = await lab.judge(record, known, { nowMs: at(2000) });
    expect(result.ok && result.record?.tokens.length).toBe(4);
  });
});

describe('many records renewed by one token', () => {
  it('each proves its own hash', async () => {
    const batch = lab.batch(3, 'sha256', { identity: ending });
    const records = [first, ...batch.digests.map((_, i) => batch.recordOf(i))];
    const renewals = records.map(timeStampRenewalOf);
    const blinds = records.map((_, i) => hash('sha256', Buffer.of(i)));
    const tree = buildHashTree(
      'sha256',
      renewals.map(({ firstList }) => firstList),
      blinds,
    );
    const token = lab.stamp(imprintOf(tree.root), { timeMs: at(9) });
    for (const [i, record] of records.entries()) {
      const again = addTimeStamp(record, { token, reducedHashtree: tree.reducedHashtreeOf(i) }, 'last_chain');
      const own = i === 0 ? digest : batch.digests[i - 1]!;
      expect(await lab.judge(again, [imprintOf(own)], { nowMs: at(20) })).toMatchObject({ ok: true });
    }
  });
});

describe('hash-tree renewal (RFC 4998 §5.2)', () => {
  const inTimeRecord = inTime(first, 9);
  const record = renewed(inTimeRecord, hashTreeRenewalOf(inTimeRecord, both[1]!), { timeMs: at(20) }, 'sha512');

  it('covers the document and the whole earlier record', async () => {
    const result = await lab.judge(record, both, { nowMs: at(30) });
    expect(result).toMatchObject({ ok: true, imprint: known[0], unchecked: ['revocation'] });
    expect(result.ok && result.record?.tokens.length).toBe(3);
  });

  it('is skipped, and the verdict says so, if the new digest of the document is not known', async () => {
    const result = await lab.judge(record, known, { nowMs: at(30) });
    expect(result).toMatchObject({ ok: true, unchecked: ['later_chains', 'revocation'] });
    expect(result.ok && result.record?.tokens.length).toBe(2);
  });

  it('is required once the earlier evidence has ended, because otherwise nothing proves that it was in time', async () => {
    const before = renewed(first, hashTreeRenewalOf(first, both[1]!), { timeMs: at(9) }, 'sha512');
    expect(await lab.judge(before, known, { nowMs: at(10) })).toMatchObject({ ok: true });
    expect(await lab.judge(before, known, { nowMs: at(11) })).toMatchObject({ ok: false, code: 'evidence_new_hash_needed' });
    expect(await lab.judge(before, both, { nowMs: at(11) })).toMatchObject({ ok: true });
    const late = renewed(first, hashTreeRenewalOf(first, both[1]!), { timeMs: at(11) }, 'sha512');
    expect(await lab.judge(late, both, { nowMs: at(12) })).toMatchObject({ ok: false, code: 'evidence_renewed_late' });
  });

  it('may change the algorithm many times, also back to an earlier one, each in time', async () => {
    const all = [...both, imprintOf(hash('sha384', content), 'sha384')];
    const ends = [20, 30, 40, 50];
    const record = (['sha512', 'sha384', 'sha512', 'sha384'] as const).reduce((before, algorithm, i) => {
      const identity = lab.tsa.signer({ notBeforeMs: at(8 + 10 * i), notAfterMs: at(ends[i]!) });
      const digest = all.find((one) => one.algorithm === algorithm)!;
      return renewed(before, hashTreeRenewalOf(before, digest), { timeMs: at(9 + 10 * i), identity }, algorithm);
    }, first);
    const result = await lab.judge(record, all, { nowMs: at(45) });
    expect(result).toMatchObject({ ok: true, record: { holdsUntil: new Date(at(50)) } });
    expect(result.ok && result.record?.tokens.length).toBe(5);
    expect(await lab.judge(record, all, { nowMs: at(51) })).toMatchObject({ ok: false, code: 'evidence_expired' });
  });

  it('is refused if the digest is of another document', async () => {
    const other = imprintOf(hash('sha512', digest), 'sha512');
    expect(await lab.judge(record, [known[0]!, other], { nowMs: at(30) })).toMatchObject({ ok: false, code: 'evidence_link_mismatch' });
  });

  it('can be renewed itself', async () => {
    expect(await lab.judge(inTime(record, 40), both, { nowMs: at(50) })).toMatchObject({ ok: true });
  });
});

describe('a compromised key', () => {
  const crlOf = (revokedAtMs: number, reason: number) =>
    issueCrl(
      { number: 1n, thisUpdateMs: at(9), nextUpdateMs: at(3000), revoked: [{ serialNumber: ending.serialNumber, revokedAtMs, reason }] },
      lab.tsa.pki.intermediate,
    );
  const judgeWith = (record: Buffer, crl: Buffer) =>
    lab.judge(record, known, { nowMs: at(9), trust: createTrustStore({ anchors: [lab.tsa.pki.root.certificate], crls: [crl] }) });
  const keyCompromise = 1;
  const superseded = 4;

  it('after the renewal leaves the record valid, because the record existed before', async () => {
    const record = inTime(first, 5);
    expect(await judgeWith(record, crlOf(at(6), keyCompromise))).toMatchObject({ ok: true });
    expect(await judgeWith(record, crlOf(at(4), keyCompromise))).toMatchObject({ ok: false, code: 'certificate_revoked' });
    expect(await judgeWith(first, crlOf(at(6), keyCompromise))).toMatchObject({ ok: false, code: 'certificate_revoked' });
  });

  it('differs from a replaced key', async () => {
    expect(await judgeWith(first, crlOf(at(4), superseded))).toMatchObject({ ok: true });
    expect(await judgeWith(first, crlOf(at(-1), superseded))).toMatchObject({ ok: false, code: 'certificate_revoked' });
  });
});

describe('a renewal by another TSA', () => {
  const other = createTsaLab();
  const record = inTime(first, 5, { identity: other.profile.identity });

  it('is valid if that TSA is trusted too, and only the first token decides the owner of the record', async () => {
    expect(await lab.judge(record, known, { nowMs: at(6) })).toMatchObject({ ok: false, code: 'untrusted_root' });
    const renewalTrust = [createTrustStore({ anchors: [other.pki.root.certificate] })];
    expect(await lab.judge(record, known, { nowMs: at(6), renewalTrust })).toMatchObject({ ok: true });
    const ours = createTrustStore({ anchors: [lab.tsa.pki.root.certificate] });
    const turned = { nowMs: at(6), trust: renewalTrust[0]!, renewalTrust: [ours] };
    expect(await lab.judge(record, known, turned)).toMatchObject({ ok: false, code: 'untrusted_root' });
  });

  it('is verified once by each store', async () => {
    const ours = createTrustStore({ anchors: [lab.tsa.pki.root.certificate] });
    const chainOf = vi.fn(ours.chainOf);
    const trust = { ...ours, chainOf };
    expect(await lab.judge(record, known, { nowMs: at(6), trust, renewalTrust: [trust] })).toMatchObject({
      ok: false,
      code: 'untrusted_root',
    });
    // One search for the chain of the first token in its place, one for it alone, one for the chain of the renewal.
    expect(chainOf).toHaveBeenCalledTimes(3);
  });
});
