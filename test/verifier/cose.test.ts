import { createSecretKey, verify } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { type Cbor, encodeCbor, encodeReceipt, receiptKeyOf } from '../../src/api/evidence/cose.ts';

describe('CBOR is written in its deterministic form (RFC 8949, appendix A)', () => {
  const vectors: [value: Cbor, hex: string][] = [
    [0, '00'],
    [23, '17'],
    [24, '1818'],
    [1_000, '1903e8'],
    [1_000_000, '1a000f4240'],
    [1_000_000_000_000, '1b000000e8d4a51000'],
    [-1, '20'],
    [-100, '3863'],
    [-1_000, '3903e7'],
    [null, 'f6'],
    [Buffer.from('01020304', 'hex'), '4401020304'],
    [[], '80'],
    [[1, [2, 3], [4, 5]], '8301820203820405'],
    [new Map(), 'a0'],
    [
      new Map([
        [1, 2],
        [3, 4],
      ]),
      'a201020304',
    ],
    ['IETF', '6449455446'],
  ];
  test.each(vectors)('%j is %s', (value, hex) => {
    expect(encodeCbor(value).toString('hex')).toBe(hex);
  });

  test('a number that is not an integer is refused', () => {
    expect(() => encodeCbor(0.5)).toThrow(RangeError);
  });
});

test('W23: a receipt is signed over the detached root, with the same key for the same secret', () => {
  const key = receiptKeyOf(createSecretKey(Buffer.alloc(32, 7)));
  expect(receiptKeyOf(createSecretKey(Buffer.alloc(32, 7))).publicPem).toBe(key.publicPem);
  expect(receiptKeyOf(createSecretKey(Buffer.alloc(32, 8))).publicPem).not.toBe(key.publicPem);
  const [root, sibling] = [Buffer.alloc(32, 1), Buffer.alloc(32, 2)];
  const receipt = encodeReceipt(key, { treeSize: 2, leafIndex: 1, inclusionPath: [sibling] }, root);
  // RFC 9052 §4.2: tag 18 of [protected, unprotected, nil, signature]; alg EdDSA, kid, vds RFC9162_SHA256; vdp with one inclusion proof.
  const header = `a30127045820${key.kid.toString('hex')}19018b01`;
  const proof = `83020181${'5820'}${sibling.toString('hex')}`;
  const sized = (hex: string) => `58${(hex.length / 2).toString(16)}${hex}`;
  const signature = receipt.subarray(-64).toString('hex');
  expect(receipt.toString('hex')).toBe(`d284${sized(header)}a119018ca12081${sized(proof)}f6${sized(signature)}`);
  // RFC 9052 §4.4: ["Signature1", protected, no external data, payload].
  const signed = `846a${Buffer.from('Signature1').toString('hex')}${sized(header)}40${sized(root.toString('hex'))}`;
  expect(verify(null, Buffer.from(signed, 'hex'), key.publicPem, receipt.subarray(-64))).toBe(true);
});
