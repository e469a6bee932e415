import { describe, expect, it } from 'vitest';
import { derOf, parseDer } from '../../src/shared/rfc3161/asn1/der.ts';
import * as der from '../../src/shared/rfc3161/asn1/der-writer.ts';
import { OID } from '../../src/shared/rfc3161/asn1/oids.ts';
import { verifyToken } from '../../src/shared/rfc3161/tsp/verify.ts';
import { isSameName } from '../../src/shared/rfc3161/x509/name.ts';
import { createTrustStore } from '../../src/shared/rfc3161/x509/trust-store.ts';
import { createTsaLab, LAB_NOW_MS } from '../support/tsa-lab.ts';

/** Input that is cheap to send and expensive to read is refused by its size (9). */

const lab = createTsaLab();
const { answer, anchors } = lab.specimen();
const trust = createTrustStore({ anchors });
const token = parseDer(answer).children[1]!;
const judge = (bytes: Uint8Array) => verifyToken(bytes, { trust, nowMs: LAB_NOW_MS });
const tooLarge = { ok: false, code: 'der_too_large' };

function withDigestAlgorithms(count: number): Buffer {
  const [type, content] = token.children;
  const [version, , ...rest] = content!.children[0]!.children;
  const algorithm = der.sequence(der.objectIdentifier(OID.sha256), der.nullValue());
  const algorithms = der.setOf(...Array.from({ length: count }, () => algorithm));
  return der.sequence(derOf(type!), der.tlv(content!.tag, der.sequence(derOf(version!), algorithms, ...rest.map(derOf))));
}

describe('a hostile token', () => {
  it('cannot report a million failures', async () => {
    const failInfo = der.tlv(0x03, Buffer.concat([Buffer.of(0), Buffer.alloc(50_000, 0xff)]));
    expect(await judge(der.sequence(der.sequence(der.integer(2), failInfo)))).toMatchObject(tooLarge);
  });

  it('shows only some of the words of a refusal', async () => {
    const words = der.sequence(...Array.from({ length: 5_000 }, () => der.utf8String('no')));
    const result = await judge(der.sequence(der.sequence(der.integer(2), words)));
    expect(result).toMatchObject({ ok: false, code: 'not_granted' });
    if (!result.ok) expect(result.detail.length).toBeLessThan(500);
  });

  it('cannot announce a thousand digest algorithms', async () => {
    expect(await judge(withDigestAlgorithms(2))).toMatchObject({ ok: true });
    expect(await judge(withDigestAlgorithms(1_000))).toMatchObject(tooLarge);
  });

  it('has its name compared octet for octet if it is too long', () => {
    const nameOf = (text: string) => der.sequence(der.setOf(der.sequence(der.objectIdentifier('2.5.4.3'), der.utf8String(text))));
    expect(isSameName(nameOf('Some CA'), nameOf('some  ca'))).toBe(true);
    const long = `a${'\u0301\u0323'.repeat(20_000)}`;
    expect(isSameName(nameOf(long), nameOf(`A${long.slice(1)}`))).toBe(false);
  });

  it('may nest pieces of octet strings only as deep as OpenSSL reads them', async () => {
    const [type, content] = token.children;
    const [version, algorithms, encapsulated, ...rest] = content!.children[0]!.children;
    const [contentType, explicit] = encapsulated!.children;
    const nested = (levels: number): Buffer => (levels === 0 ? der.octetString(eContent) : der.tlv(0x24, nested(levels - 1)));
    const eContent = derOf(explicit!.children[0]!).subarray(explicit!.children[0]!.content - explicit!.children[0]!.start);
    const inPieces = (levels: number) =>
      der.sequence(
        derOf(type!),
        der.tlv(
          content!.tag,
          der.sequence(
            derOf(version!),
            derOf(algorithms!),
            der.sequence(derOf(contentType!), der.tlv(explicit!.tag, nested(levels))),
            ...rest.map(derOf),
          ),
        ),
      );
    expect(await judge(inPieces(6))).toMatchObject({ ok: true });
    expect(await judge(inPieces(7))).toMatchObject({ ok: false, code: 'der_too_deep' });
  });
});
