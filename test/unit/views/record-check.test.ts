import { randomBytes } from 'node:crypto';
import { pathToFileURL } from 'node:url';
import { describe, expect, it } from 'vitest';
import { createMerkleTree } from '../../../src/shared/domain/proofs.ts';
import { buildHashTree, encodeEvidenceRecord } from '../../../src/shared/rfc3161/index.ts';
import { viewsFolder } from '../../../src/shared/views/engine.ts';
import { tokenFor } from '../../support/page-record.ts';
import { REAL_TOKENS, readReal } from '../../support/real-tokens.ts';

interface Tree {
  append(leafInput: Uint8Array): void;
  root(): Uint8Array;
  pathOf(leafIndex: number): Uint8Array[];
  indexesOf(leafInput: Uint8Array, most: number): number[];
}
type RootOfPath = (leafInput: Uint8Array, leafIndex: number, size: number, path: readonly Uint8Array[]) => Uint8Array | undefined;
type ReadImprint = (record: Uint8Array, digest: Uint8Array) => { readonly isFor: boolean; readonly genTime: string };

// The scripts are typed for a browser, so they are not part of this program.
const load = (file: string) => import(pathToFileURL(`${viewsFolder}/assets/${file}`).href);
const script: { createMerkleTree(): Tree; rootOfPath: RootOfPath } = await load('merkle-tree.js');
const { readImprint }: { readImprint: ReadImprint } = await load('evidence-imprint.js');

const hex = (octets: Uint8Array | undefined) => octets && Buffer.from(octets).toString('hex');

describe('the tree of the pages’ scripts (RFC 9162 §2.1)', () => {
  it('has the roots and paths of the service’s own, at every size to 70', () => {
    const ours = createMerkleTree();
    const theirs = script.createMerkleTree();
    expect(hex(theirs.root())).toBe(hex(ours.rootAt(0)));
    for (let size = 1; size <= 70; size += 1) {
      const leaf = randomBytes(32);
      ours.append(leaf);
      theirs.append(leaf);
      expect(hex(theirs.root())).toBe(hex(ours.rootAt(size)));
      expect(theirs.indexesOf(leaf, 1)).toEqual([size - 1]);
      for (let index = 0; index < size; index += 7) {
        expect(theirs.pathOf(index).map(hex)).toEqual(ours.proveInclusion(index, size).inclusionPath.map(hex));
      }
    }
  });

  it('refusal 48: a path leads to the root from its own leaf and place only, and at its own length', () => {
    const leaves = Array.from({ length: 13 }, () => randomBytes(32));
    const tree = script.createMerkleTree();
    for (const leaf of leaves) tree.append(leaf);
    const root = hex(tree.root());
    for (const [index, leaf] of leaves.entries()) {
      const path = tree.pathOf(index);
      expect(hex(script.rootOfPath(leaf, index, 13, path))).toBe(root);
      const wrong: [Uint8Array, number, number, Uint8Array[]][] = [
        [leaves[(index + 1) % 13]!, index, 13, path],
        [leaf, (index + 1) % 13, 13, path],
        [leaf, index, 13, [...path, leaf]],
        [leaf, index, 13, path.slice(1)],
      ];
      for (const given of wrong) expect(hex(script.rootOfPath(...given))).not.toBe(root);
    }
  });
});

describe('what a token vouches for, as the pages’ scripts read it (RFC 4998 §4.3, RFC 3161 §2.4.2)', () => {
  const digest = randomBytes(32);
  const time = '2026-11-21T10:02:30.482Z';

  it('of tokens of the world: their imprint and time', () => {
    // A TimeStampResp is DER (V6): those that were cut out of documents and are BER are in no stamp.
    const real = REAL_TOKENS.filter(
      ({ imprintAlg, want, finding }) => imprintAlg === 'sha256' && want === 'accept' && !finding.includes('BER'),
    );
    expect(real.length).toBeGreaterThan(10);
    for (const { token, imprint, genTime } of real) {
      const read = readImprint(encodeEvidenceRecord('sha256', { token: readReal(token) }), Buffer.from(imprint, 'hex'));
      expect(read.isFor).toBe(true);
      expect(Math.trunc(Date.parse(read.genTime) / 1_000)).toBe(Math.trunc(Date.parse(genTime) / 1_000));
    }
  });

  it('of a token that is over the root of a hash tree: each hash in the tree, and no other', () => {
    const digests = [digest, randomBytes(32), randomBytes(32)];
    const blinds = digests.map(() => randomBytes(32));
    const tree = buildHashTree(
      'sha256',
      digests.map((one) => [one]),
      blinds,
    );
    const token = tokenFor(tree.root.toString('hex'), time);
    for (const [index, one] of digests.entries()) {
      const record = encodeEvidenceRecord('sha256', { reducedHashtree: tree.reducedHashtreeOf(index), token });
      expect(readImprint(record, one)).toEqual({ isFor: true, genTime: time });
      expect(readImprint(record, randomBytes(32)).isFor).toBe(false);
      expect(readImprint(record, blinds[index]!).isFor).toBe(false);
    }
    const other = encodeEvidenceRecord('sha256', {
      reducedHashtree: tree.reducedHashtreeOf(1),
      token: tokenFor(digest.toString('hex'), time),
    });
    expect(readImprint(other, digests[1]!).isFor).toBe(false);
  });

  it('of rubbish: nothing, whatever octet is changed', () => {
    const record = encodeEvidenceRecord('sha256', { token: tokenFor(digest.toString('hex'), time) });
    for (let at = 0; at < record.length; at += 3) {
      for (const octets of [
        record.subarray(0, at),
        Buffer.concat([record.subarray(0, at), Buffer.from([record[at]! ^ 0x55]), record.subarray(at + 1)]),
      ]) {
        try {
          readImprint(octets, digest);
        } catch (error) {
          expect(String(error)).toMatch(/no element|no definite length|cut off|something is missing|no time-stamp token|no SHA-256/);
        }
      }
    }
  });
});
