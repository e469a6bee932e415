import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { buildHashTree, encodeEvidenceRecord, tokenIn } from '../../../src/shared/rfc3161/index.ts';
import { loadScript } from '../../support/browser-script.ts';
import { tokenFor } from '../../support/page-record.ts';
import { REAL_TOKENS, readReal } from '../../support/real-tokens.ts';
import { createTsaLab } from '../../support/tsa-lab.ts';

type ReadImprint = (record: Uint8Array, digest: Uint8Array) => { readonly isFor: boolean; readonly genTime: string };

const { UnjudgedFault } = await loadScript('der.js');
const { readImprint }: { readImprint: ReadImprint } = await loadScript('evidence-imprint.js');

describe('the imprints of a token, as read by the scripts of the pages (RFC 4998 §4.3, RFC 3161 §2.4.2)', () => {
  const digest = randomBytes(32);
  const time = '2026-11-21T10:02:30.482Z';

  it('real tokens: their imprint and time', () => {
    // A TimeStampResp is DER (V6). Stamps contain no BER tokens such as those from documents.
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

  it('a token over the root of a hash tree: each hash in the tree, and no other', () => {
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

  it('a fraction of more than nine digits is cut to milliseconds', () => {
    const genTime = '20261121100230.0000000001234567891Z';
    const { answer } = createTsaLab().specimen({ ask: { digest }, seams: { fields: (good) => ({ ...good, genTime }) } });
    expect(readImprint(tokenIn(answer)!, digest)).toEqual({ isFor: true, genTime: '2026-11-21T10:02:30.000Z' });
  });

  it('an imprint of an unknown algorithm cannot be judged, and one of SHA-512 is for another hash', () => {
    const token = tokenFor(digest.toString('hex'), time);
    const of = (oid: string) => Buffer.from(token.toString('hex').replaceAll('608648016503040201', oid), 'hex');
    expect(() => readImprint(of('608648016503040208'), digest)).toThrow(UnjudgedFault);
    expect(readImprint(of('608648016503040203'), digest)).toMatchObject({ isFor: false });
  });

  it('damaged data: nothing, whichever octet is changed', () => {
    const record = encodeEvidenceRecord('sha256', { token: tokenFor(digest.toString('hex'), time) });
    for (let at = 0; at < record.length; at += 3) {
      for (const octets of [
        record.subarray(0, at),
        Buffer.concat([record.subarray(0, at), Buffer.from([record[at]! ^ 0x55]), record.subarray(at + 1)]),
      ]) {
        try {
          readImprint(octets, digest);
        } catch (error) {
          expect(String(error)).toMatch(
            /no element|no definite length|not_der|imprint_algorithm_unknown|cut off|something is missing|no time-stamp token|not SHA-256|more octets follow/,
          );
        }
      }
    }
  });
});
