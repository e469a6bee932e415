import { createHash } from 'node:crypto';
import { buffer } from 'node:stream/consumers';
import { sha256 } from '@noble/hashes/sha2.js';
import { describe, expect, test } from 'vitest';
import { ZipFile } from 'yazl';
import { type BundleTools, openBundle } from '../../src/shared/proof/bundle.js';
import { listedFiles } from '../../src/shared/proof/bundle-files.js';
import { canonicalTextOf, closingRecordOf } from '../../src/shared/proof/closing-record.js';
import { judgeBundle, type Stamped, type TimeStampJudgement } from '../../src/shared/proof/judge-bundle.js';
import { createMerkle } from '../../src/shared/proof/merkle-tree.js';
import { concatOctets, hexOf, octetsOfSha256 } from '../../src/shared/proof/octets.js';
import { chainStart, createOutputChain } from '../../src/shared/proof/output-chain.js';
import type { Inflate } from '../../src/shared/proof/zip.js';
import { blobSource } from '../../src/shared/proof/zip-source.js';
import { loadScript } from '../support/browser-script.ts';

/** A bundle like in a browser: from a Blob, with the browser's inflate and hashes, and a test judge for time-stamps. bundle-verdicts.test.ts covers invalid bundles. */

const { inflate }: { inflate: Inflate } = await loadScript('inflate.js');
const tools: BundleTools = { inflate, sha256, createSha256: () => sha256.create() };
const merkle = createMerkle(sha256);
const hash = (content: string | Uint8Array) => createHash('sha256').update(content).digest('hex');
const completedAt = new Date('2026-11-22T10:00:00Z');
const seals = { 'closing-record': { hasToken: true, hasRecord: false }, root: { hasToken: true, hasRecord: true } };

type Files = ReadonlyMap<string, string | Uint8Array>;

/** Three outputs; the stamps are texts that name their subject. */
function filesOf(): Map<string, string | Uint8Array> {
  const hashes = ['a', 'b', 'c'].map(hash);
  const tree = merkle.createMerkleTree();
  for (const output of hashes) tree.append(octetsOfSha256(output));
  let end = chainStart(hash('briefing'));
  const chain = hashes.map((output) => {
    end = createOutputChain(sha256).extendChain(end, output);
    return end.chainHash;
  });
  const record = canonicalTextOf(
    closingRecordOf({
      workflowId: '01a202c0-9c61-7125-b2bd-9dd1c07b9678',
      tier: 'standard',
      briefingHash: hash('briefing'),
      createdAt: completedAt,
      confirmedAt: undefined,
      completedAt,
      outputCount: hashes.length,
      chainHash: chain.at(-1)!,
      merkleRoot: hexOf(tree.rootAt(3)),
      commitments: undefined,
    }),
  );
  const lines = (line: (output: string, index: number) => string) => hashes.map((output, index) => `${line(output, index)}\n`).join('');
  const proof = (index: number) => tree.proveInclusion(index, 3).inclusionPath.map(hexOf);
  const contents: Record<string, string | Uint8Array> = {
    'README.txt': 'Read me.',
    'verify.py': '',
    'closing-record.json': record,
    'closing-record.tst': `for ${hash(record)}`,
    'root.bin': concatOctets([Uint8Array.of(1), tree.rootAt(2), merkle.leafHash(octetsOfSha256(hashes[2]!))]),
    'root.tst': 'the token of the root',
    'root.ers': `for ${hexOf(tree.rootAt(3))}`,
    'outputs.txt': lines((output, index) => `${index + 1} ${output} ${chain[index]} text id`),
    'proofs/1.txt': lines((_, index) => [index + 1, ...proof(index)].join(' ')),
    'stamps/1.txt': lines((output, index) => (index === 1 ? '2 none' : `${index + 1} token ${btoa(`for ${output}`)}`)),
  };
  return new Map(listedFiles(3, seals).map((name) => [name, contents[name] ?? '']));
}

function zipped(files: Files): Promise<Buffer> {
  const zip = new ZipFile();
  for (const [name, content] of files) zip.addBuffer(Buffer.from(content), name);
  zip.addBuffer(Buffer.from([...files].map(([name, content]) => `${hash(content)}  ${name}\n`).join('')), 'SHA256SUMS');
  zip.end();
  return buffer(zip.outputStream);
}

async function judge(zip: Uint8Array) {
  const asked: string[] = [];
  const contents: boolean[] = [];
  const bundle = await openBundle(blobSource(new Blob([new Uint8Array(zip)])), tools);
  const judgement = await judgeBundle<TimeStampJudgement>(bundle, {
    judgeStamp: async (bytes, stamped: Stamped, what) => {
      asked.push(what);
      if (stamped.content) contents.push(hash(stamped.content) === stamped.sha256);
      const isFor = new TextDecoder().decode(bytes) === `for ${stamped.sha256}`;
      if (!isFor) return { verdict: 'not_valid', reason: 'imprint_mismatch', stated: undefined };
      return { verdict: 'valid', reason: undefined, stated: { genTime: completedAt } };
    },
    firstTokenOf: () => new TextEncoder().encode('the token of the root'),
    wanted: new Set([hash('b'), hash('c')]),
    onOutput: () => undefined,
  });
  return { ...judgement, asked, contents };
}

describe('an evidence bundle in the browser (W22)', () => {
  test('is valid: the given judge checks each time-stamp, and files are found', async () => {
    const { root, closing, own, found, asked, contents } = await judge(await zipped(filesOf()));
    expect([root?.verdict, closing?.verdict, own]).toEqual(['valid', 'valid', { valid: 2, notProved: 0, none: 1 }]);
    expect(Object.fromEntries(found)).toEqual({
      [hash('b')]: [{ sequenceNumber: 2, stamp: undefined }],
      [hash('c')]: [{ sequenceNumber: 3, stamp: { genTime: completedAt } }],
    });
    expect(asked).toHaveLength(4);
    expect(contents).toEqual([true, true]);
  });
});
