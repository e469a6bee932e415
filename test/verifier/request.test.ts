import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { boolean, contextConstructed, integer, objectIdentifier, octetString, sequence } from '../../src/shared/rfc3161/asn1/der-writer.ts';
import { OID } from '../../src/shared/rfc3161/asn1/oids.ts';
import { decodeRequest, encodeRequest } from '../../src/shared/rfc3161/tsp/request.ts';
import { openssl } from '../support/openssl-tsa.ts';
import { withFile } from '../support/with-file.ts';

const digest = Buffer.alloc(32, 7);
const nonce = Buffer.from('f122334455667788', 'hex');

describe('TimeStampReq (RFC 3161 §2.4.1)', () => {
  it('reads back as written', () => {
    const fields = fc.record({
      hash: fc.constantFrom(['sha256', 32] as const, ['sha384', 48] as const, ['sha512', 64] as const),
      nonce: fc.uint8Array({ minLength: 8, maxLength: 32 }),
      policy: fc.option(fc.constantFrom('1.2.3.4', '2.999.1'), { nil: undefined }),
      certReq: fc.boolean(),
    });
    fc.assert(
      fc.property(fields, ({ hash: [algorithm, octets], nonce, policy, certReq }) => {
        const given = { imprint: { algorithm, digest: randomBytes(octets) }, policy, certReq };
        expect(decodeRequest(encodeRequest({ ...given, nonce }))).toEqual({
          ok: true,
          request: {
            version: 1,
            ...given,
            imprintAlgorithmDer: sequence(objectIdentifier(OID[algorithm])),
            nonce: BigInt(`0x${Buffer.from(nonce).toString('hex')}`),
            hasNullParameters: false,
            hasExtensions: false,
          },
        });
      }),
    );
  });

  it('reads correctly in OpenSSL', async () => {
    const der = encodeRequest({ imprint: { algorithm: 'sha256', digest }, nonce, policy: '1.2.3.4' });
    const { output } = await withFile(der, (path) => openssl('ts', '-query', '-in', path, '-text'));
    for (const line of [
      'Version: 1',
      'Hash Algorithm: sha256',
      'Policy OID: 1.2.3.4',
      'Nonce: 0xF122334455667788',
      'Certificate required: yes',
    ]) {
      expect(output).toContain(line);
    }
  });

  it('is never made with a nonce under 64 bits, a digest of the wrong length, or an invalid policy OID', () => {
    const good = { imprint: { algorithm: 'sha256', digest }, nonce } as const;
    expect(() => encodeRequest({ ...good, nonce: nonce.subarray(1) })).toThrow(RangeError);
    expect(() => encodeRequest({ ...good, nonce: Buffer.alloc(33) })).toThrow(RangeError);
    expect(() => encodeRequest({ ...good, imprint: { algorithm: 'sha256', digest: digest.subarray(1) } })).toThrow(RangeError);
    expect(() => encodeRequest({ ...good, policy: '3.1' })).toThrow(RangeError);
  });

  const imprint = (oid: string, octets: number, ...parameters: Buffer[]) =>
    sequence(sequence(objectIdentifier(oid), ...parameters), octetString(Buffer.alloc(octets)));
  it.each([
    ['a SHA-1 imprint', sequence(integer(1), imprint(OID.sha1, 20)), 'imprint_algorithm_weak'],
    ['an MD5 imprint', sequence(integer(1), imprint(OID.md5, 16)), 'imprint_algorithm_weak'],
    ['an imprint of unknown algorithm', sequence(integer(1), imprint('2.999', 20)), 'imprint_algorithm_unknown'],
    ['an imprint of the wrong length', sequence(integer(1), imprint(OID.sha256, 31)), 'imprint_length'],
    ['an imprint without octets', sequence(integer(1), imprint(OID.sha512, 0)), 'imprint_length'],
    ['an imprint whose algorithm has parameters', sequence(integer(1), imprint(OID.sha256, 32, integer(1))), 'der_malformed'],
    ['no imprint', sequence(integer(1)), 'der_malformed'],
    ['more than 4 096 octets', sequence(integer(1), imprint(OID.sha256, 32), integer(1n << 33_000n)), 'der_too_large'],
    ['members in another order', sequence(integer(1), imprint(OID.sha256, 32), boolean(true), integer(5)), 'der_trailing'],
    ['nothing', Buffer.alloc(0), 'der_truncated'],
  ] as const)('refuses %s', (_name, der, code) => {
    expect(decodeRequest(der)).toMatchObject({ ok: false, code });
  });

  it('leaves extensions to the TSA', () => {
    const extensions = contextConstructed(0, sequence(objectIdentifier('2.999'), octetString()));
    const request = sequence(integer(1), imprint(OID.sha256, 32), extensions);
    expect(decodeRequest(request)).toMatchObject({ ok: true, request: { hasExtensions: true } });
  });

  it('accepts an explicit certReq FALSE, which some clients write', () => {
    const request = sequence(integer(1), imprint(OID.sha256, 32), boolean(false));
    expect(decodeRequest(request)).toMatchObject({ ok: true, request: { certReq: false } });
  });
});
