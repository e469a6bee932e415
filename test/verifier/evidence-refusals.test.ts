import { describe, expect, it } from 'vitest';
import { sha256 } from '../../src/shared/domain/proofs.ts';
import { rootOf } from '../../src/shared/proof/hash-tree.js';
import { contentsOf, parseDer } from '../../src/shared/rfc3161/asn1/der.ts';
import { contextConstructed, integer, nullValue, octetString, sequence, setOf, tlv } from '../../src/shared/rfc3161/asn1/der-writer.ts';
import { encodeEvidenceRecord } from '../../src/shared/rfc3161/ers/encode.ts';
import { REFUSALS } from '../../src/shared/rfc3161/refusal/codes.ts';
import type { MessageImprint } from '../../src/shared/rfc3161/tsp/imprint.ts';
import { digestIdentifier } from '../../src/shared/rfc3161/x509/algorithms.ts';
import { createRecordLab, hash, imprintOf } from '../support/record-lab.ts';
import { LAB_NOW_MS } from '../support/tsa-lab.ts';

const lab = createRecordLab();
const digest = hash('sha256', Buffer.from('the document'));
const imprint = imprintOf(digest);
const token = lab.stamp(imprint);
const batch = lab.batch(5);
const own = imprintOf(batch.digests[2]!);
const tree = batch.treeOf(2);
const stranger = hash('sha256', Buffer.from('a stranger'));
const SECOND = 1000;

/** An EvidenceRecord made of its members, each of which may be wrong. */
function record(
  parts: { version?: number; algorithms?: readonly Buffer[]; extra?: readonly Buffer[]; chains?: readonly (readonly Buffer[])[] } = {},
): Buffer {
  const { version = 1, algorithms = [digestIdentifier('sha256')], extra = [], chains = [[timeStamp()]] } = parts;
  return sequence(integer(version), sequence(...algorithms), ...extra, sequence(...chains.map((chain) => sequence(...chain))));
}

function timeStamp(lists?: readonly (readonly Buffer[])[], signed = token, algorithm?: Buffer): Buffer {
  const members = lists?.map((list) => sequence(...list.map((one) => octetString(one))));
  return sequence(
    ...(algorithm === undefined ? [] : [contextConstructed(0, algorithm.subarray(2))]),
    ...(members === undefined ? [] : [contextConstructed(2, ...members)]),
    signed,
  );
}

const batched = (lists: readonly (readonly Buffer[])[], signed = batch.token) => record({ chains: [[timeStamp(lists, signed)]] });
const renewalOf = (previous: Buffer, timeMs = LAB_NOW_MS) => lab.stamp(imprintOf(hash('sha256', previous)), { timeMs });
const sha512Token = lab.stamp(imprintOf(hash('sha512', token), 'sha512'));
const deepTree = (levels: number) => [[digest], ...Array.from({ length: levels - 1 }, () => [stranger])];
const deep = (levels: number) => batched(deepTree(levels), lab.stamp(imprintOf(rootOf(sha256, deepTree(levels)))));

const chains = (...chains: readonly (readonly Buffer[])[]) => record({ chains });
/** A record without a hash tree. */
const plain = (signed = token) => timeStamp(undefined, signed);
const renewed = (second: Buffer) => chains([plain(), plain(second)]);
const named = (algorithm: Buffer) => record({ chains: [[timeStamp([[digest]], token, algorithm)]] });
const renewalImprint = () => imprintOf(hash('sha256', token));
const pairToken = () => lab.stamp(imprintOf(hash('sha256', ...[digest, stranger].sort(Buffer.compare))));
const descendingPair = () =>
  batched([[digest], [stranger]], lab.stamp(imprintOf(hash('sha256', ...[digest, stranger].sort(Buffer.compare).reverse()))));
const indefinite = (der: Buffer) =>
  Buffer.concat([Buffer.of(0x30, 0x80), der.subarray(2 + (der[1]! > 0x80 ? der[1]! & 0x7f : 0)), Buffer.of(0, 0)]);

/** The subject, the expected hash, and the only reason to refuse it. */
type Case = readonly [code: keyof typeof REFUSALS, name: string, bytes: () => Buffer, of?: MessageImprint];

const refused: readonly Case[] = [
  ['evidence_version', 'version 0', () => record({ version: 0 })],
  ['evidence_version', 'version 2', () => record({ version: 2 })],
  ['evidence_imprint_missing', 'the leaf of another stamp', () => batch.recordOf(1), own],
  ['evidence_imprint_missing', 'the hash stands in the second list', () => batched([tree[1]!, tree[0]!, ...tree.slice(2)]), own],
  ['imprint_mismatch', 'without a tree, for another hash', () => record(), own],
  ['imprint_algorithm_mismatch', 'for a hash of another algorithm', () => record(), imprintOf(hash('sha512', digest), 'sha512')],
  ['evidence_root_mismatch', 'the token of another batch', () => batched(tree, lab.batch(5).token), own],
  ['evidence_root_mismatch', 'a hash too many', () => batched([...tree, [stranger]]), own],
  ['evidence_root_mismatch', 'a hash too many in a list', () => batched([tree[0]!, [...tree[1]!, stranger], ...tree.slice(2)]), own],
  ['evidence_root_mismatch', 'a hash too few', () => batched(tree.slice(0, -1)), own],
  ['evidence_root_mismatch', 'levels in another order', () => batched([tree[0]!, ...tree.slice(1).reverse()]), own],
  ['evidence_root_mismatch', 'a pair hashed in descending order', () => descendingPair(), imprint],
  ['evidence_algorithm_mismatch', 'another algorithm than the token’s', () => named(digestIdentifier('sha512'))],
  ['evidence_algorithm_mismatch', 'the algorithm is not announced', () => record({ algorithms: [digestIdentifier('sha512')] })],
  ['evidence_algorithm_mismatch', 'a chain of two algorithms', () => renewed(sha512Token)],
  ['imprint_algorithm_weak', 'SHA-1 announced', () => record({ algorithms: [digestIdentifier('sha256'), digestIdentifier('sha1')] })],
  ['evidence_list_empty', 'no digest algorithms', () => record({ algorithms: [] })],
  ['evidence_list_empty', 'no chains', () => record({ chains: [] })],
  ['evidence_list_empty', 'a chain of nothing', () => record({ chains: [[timeStamp()], []] })],
  ['evidence_list_empty', 'a tree without lists', () => batched([])],
  ['evidence_list_empty', 'a list without hashes', () => batched([...tree, []]), own],
  ['evidence_hash_length', 'a hash of 31 octets', () => batched([...tree, [stranger.subarray(1)]]), own],
  ['evidence_hash_length', 'a hash of 64 octets', () => batched([[digest, hash('sha512', digest)]], token)],
  ['evidence_too_deep', '65 levels', () => deep(65)],
  ['evidence_order', 'a renewal older than what it renews', () => renewed(renewalOf(token, LAB_NOW_MS - SECOND))],
  ['evidence_link_mismatch', 'a renewal of another token', () => renewed(renewalOf(batch.token))],
  ['evidence_link_mismatch', 'tokens swapped', () => chains([plain(renewalOf(token)), plain()]), renewalImprint()],
  ['evidence_link_mismatch', 'a chain that is not over the document', () => chains([plain()], [plain(renewalOf(token))])],
  ['evidence_hash_needed', 'several hashes and none asked for', () => batched([[digest, stranger]], pairToken())],
  ['der_trailing', 'bytes after the end', () => Buffer.concat([record(), Buffer.of(0)])],
  ['der_trailing', 'a member too many', () => sequence(contentsOf(parseDer(record())), nullValue())],
  ['der_truncated', 'cut off', () => record().subarray(0, -1)],
  ['der_length', 'BER: an indefinite length', () => indefinite(record())],
  ['der_length', 'a token in BER', () => chains([plain(indefinite(token))])],
  ['der_malformed', 'a hash that is no octet string', () => chains([sequence(contextConstructed(2, sequence(integer(1))), token)])],
  ['der_malformed', 'a chain that is a SET', () => sequence(integer(1), sequence(digestIdentifier('sha256')), sequence(setOf(plain())))],
  ['der_too_large', '33 tokens', () => chains(Array.from({ length: 33 }, () => plain()))],
  ['der_too_large', '257 certificates in two tokens', () => crowded(128, 129)],
  ['der_too_large', '8 193 hashes', () => batched([Array.from({ length: 8_193 }, () => stranger)])],
  ['not_signed_data', 'no token in it', () => chains([plain(sequence(digestIdentifier('sha256').subarray(2)))])],
];

describe('an evidence record that must be refused', () => {
  it.each(refused.map((one) => [`${one[0]}: ${one[1]}`, one] as const))('%s', async (_name, [code, , bytes, of = imprint]) => {
    expect(await lab.judge(bytes(), code === 'evidence_hash_needed' ? [] : [of])).toMatchObject({ ok: false, code });
  });

  it('has a test for each of its codes, here or with the renewals', () => {
    const tried = new Set<string>([
      ...refused.map(([code]) => code),
      'evidence_new_hash_needed',
      'evidence_renewed_late',
      'evidence_expired',
    ]);
    expect(Object.keys(REFUSALS).filter((code) => code.startsWith('evidence_') && !tried.has(code))).toEqual([]);
  });
});

describe('an evidence record that must be accepted', () => {
  it.each([
    ['64 levels', () => deep(64)],
    ['its algorithm is written out', () => named(digestIdentifier('sha256'))],
    ['more algorithms are announced than used', () => record({ algorithms: [digestIdentifier('sha512'), digestIdentifier('sha256')] })],
    ['32 tokens of one time', () => manyTokens(32)],
    ['256 certificates in two tokens', () => crowded(128, 128)],
  ])('%s', async (_name, bytes) => {
    expect(await lab.judge(bytes(), [imprint])).toMatchObject({ ok: true });
  });

  it('attributes and encryption information are ignored, and the verdict says so', async () => {
    for (const extra of [[contextConstructed(0, sequence())], [contextConstructed(1, sequence())]])
      expect(await lab.judge(record({ extra }), [imprint])).toMatchObject({ ok: true, unchecked: ['record_information', 'revocation'] });
    const attributed = sequence(tlv(0xa1, sequence()), token);
    expect(await lab.judge(record({ chains: [[attributed]] }), [imprint])).toMatchObject({
      ok: true,
      unchecked: ['record_information', 'revocation'],
    });
  });
});

/** A renewed record whose tokens have this many certificates. */
function crowded(first: number, second: number): Buffer {
  const one = lab.stamp(imprint, { certificates: first });
  const another = lab.stamp(imprintOf(hash('sha256', one)), { certificates: second });
  return chains([plain(one), plain(another)]);
}

function manyTokens(count: number): Buffer {
  const tokens = [token];
  while (tokens.length < count) tokens.push(renewalOf(tokens.at(-1)!));
  return chains(tokens.map(plain));
}

it('encodeEvidenceRecord writes the same record', () => {
  expect(encodeEvidenceRecord('sha256', { token })).toEqual(record());
});
