import { sign } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { contentsOf, type Der, derOf, parseDer, TAG } from '../../src/shared/rfc3161/asn1/der.ts';
import { contextConstructed, octetString, sequence, tlv } from '../../src/shared/rfc3161/asn1/der-writer.ts';
import type { Verified, VerifyResult } from '../../src/shared/rfc3161/tsp/types.ts';
import { verifyResponse, verifyToken } from '../../src/shared/rfc3161/tsp/verify.ts';
import { createTrustStore } from '../../src/shared/rfc3161/x509/trust-store.ts';
import { berOf, chooserOf, END_MARK, indefinite, longForm } from '../support/ber-forms.ts';
import { tries } from '../support/depth.ts';
import { createTsaLab, LAB_NOW_MS } from '../support/tsa-lab.ts';

/** Attempts to make two readers see different tokens, and legitimate uses of BER (V6). */

const lab = createTsaLab();
const { answer, asked, anchors } = lab.specimen({ profile: { includeTsaName: true } });
const trust = createTrustStore({ anchors });
const good = mustVerify(await raw(derOf(parseDer(answer).children[1]!)));
const token = parseDer(good.token);

function raw(bytes: Uint8Array): Promise<VerifyResult> {
  return verifyToken(bytes, { trust, nowMs: LAB_NOW_MS, expected: { algorithm: 'sha256', digest: asked.digest } });
}

const fresh = (bytes: Uint8Array) =>
  verifyResponse(bytes, { trust, nowMs: LAB_NOW_MS, request: asked.der, sentAtMs: LAB_NOW_MS, receivedAtMs: LAB_NOW_MS });

function mustVerify(result: VerifyResult): Verified {
  if (!result.ok) throw new Error(`${result.code}: ${result.detail}`);
  return result;
}

const refused = (code: string) => ({ ok: false, code });

/** The element at the end of a path of indexes. */
const at = (root: Der, ...path: readonly number[]): Der => path.reduce((element, place) => element.children[place]!, root);
const E_CONTENT = [1, 0, 2, 1, 0] as const;
const SIGNER_INFO = [1, 0, 4, 0] as const;
const SIGNED_ATTRIBUTES = [...SIGNER_INFO, 3] as const;
const SIGNATURE = [...SIGNER_INFO, 5] as const;

/** The token with one element in another form, and everything around it in DER or in the forms of `wrap`. */
function withElement(path: readonly number[], other: (element: Der) => Buffer, wrap = tlv, element = token): Buffer {
  const [place, ...rest] = path;
  if (place === undefined) return other(element);
  return wrap(element.tag, ...element.children.map((child, i) => (i === place ? withElement(rest, other, wrap, child) : derOf(child))));
}

const signedAttributes = at(token, ...SIGNED_ATTRIBUTES);
const signedParts = [signedAttributes, ...at(token, 1, 0, 3).children];
const keepsSigned = (element: Der) => signedParts.some(({ start, end }) => element.start === start && element.end === end);

describe('a bare token in BER', () => {
  it('is the same token in every form', async () => {
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ minLength: 16, maxLength: 64 }), async (numbers) => {
        const ber = berOf(token, chooserOf(numbers), keepsSigned);
        const result = await raw(ber);
        expect(result).toEqual({ ...good, token: ber });
      }),
      { numRuns: tries(300, 100), seed: 3161 },
    );
  });

  it('is verified over the concatenated octets of its content, however they are split', async () => {
    const octets = contentsOf(at(token, ...E_CONTENT));
    const cut = (...pieces: readonly Buffer[]) =>
      raw(withElement(E_CONTENT, () => tlv(0x24, ...pieces.map((piece) => octetString(piece)))));
    for (let place = 0; place <= octets.length; place += 7) {
      expect(await cut(octets.subarray(0, place), octets.subarray(place))).toMatchObject({ ok: true });
    }
    const [first, second] = [octets.subarray(0, 50), octets.subarray(50)];
    expect(await cut(second, first)).toMatchObject({ ok: false });
    expect(await cut(first)).toMatchObject({ ok: false });
    expect(await cut(octets, octets)).toMatchObject(refused('der_trailing'));
    expect(await cut(octets, Buffer.from([0]))).toMatchObject(refused('der_trailing'));
    expect(await cut()).toMatchObject(refused('content_missing'));
  });
});

describe('parts that must be DER', () => {
  it.each([
    ['a long length', (set: Der) => longForm(set.tag, contentsOf(set), 4)],
    ['an indefinite length', (set: Der) => indefinite(set.tag, contentsOf(set))],
    [
      'a long length of one attribute',
      (set: Der) => tlv(set.tag, ...set.children.map((one, i) => (i === 0 ? longForm(one.tag, contentsOf(one), 3) : derOf(one)))),
    ],
    [
      'messageDigest in pieces',
      (set: Der) =>
        berOf(
          set,
          () => 0,
          ({ tag, end, content }) => tag !== TAG.octetString && end - content < 20,
        ),
    ],
  ])('the signed attributes are refused with %s, whatever the signature covers', async (_name, bend) => {
    const bent = bend(signedAttributes);
    expect(await raw(withElement(SIGNED_ATTRIBUTES, bend))).toMatchObject(refused('der_length'));
    const resigned = sign('sha256', Buffer.concat([Buffer.from([0x31]), bent.subarray(1)]), lab.pki.signer.privateKey);
    const withBoth = withElement(SIGNER_INFO, (info) =>
      sequence(...info.children.map((one, i) => (i === 3 ? bent : i === 5 ? octetString(resigned) : derOf(one)))),
    );
    expect(await raw(withBoth)).toMatchObject(refused('der_length'));
  });

  it('a TimeStampResp from any source, including its contents', async () => {
    const [status, contentInfo] = parseDer(answer).children.map(derOf) as [Buffer, Buffer];
    const ber = indefinite(0x30, contentsOf(token));
    const forms = [
      indefinite(0x30, status, contentInfo),
      longForm(0x30, Buffer.concat([status, contentInfo]), 6),
      sequence(status, ber),
      sequence(indefinite(0x30, contentsOf(parseDer(status))), contentInfo),
      sequence(
        status,
        withElement(SIGNATURE, (signature) => tlv(0x24, derOf(signature))),
      ),
    ];
    for (const form of forms) {
      for (const result of [await fresh(form), await raw(form)])
        expect(result.ok ? 'accepted' : result.code).toMatch(/^der_(length|not_canonical)$/);
    }
    expect(await raw(ber)).toMatchObject({ ok: true });
  });

  it('a bare token is not an answer to a request', async () => {
    for (const bytes of [good.token, indefinite(0x30, contentsOf(token))]) expect((await fresh(bytes)).ok).toBe(false);
  });
});

describe('two readings of one token', () => {
  it('no second content, signer or signature can hide behind an end mark or a length', async () => {
    const hidden = sequence(octetString(Buffer.from('hidden')));
    const attacks = [
      Buffer.concat([indefinite(0x30, contentsOf(token)), hidden]),
      indefinite(0x30, contentsOf(token), END_MARK, hidden),
      indefinite(0x30, contentsOf(token), hidden),
      longForm(0x30, Buffer.concat([contentsOf(token), END_MARK]), 4),
      // Two octet strings in place of one, and one in pieces with something else between them.
      withElement(E_CONTENT, (one) => Buffer.concat([derOf(one), derOf(one)])),
      withElement(E_CONTENT, (one) => tlv(0x24, octetString(contentsOf(one)), tlv(0x80, Buffer.from('x')))),
      withElement(E_CONTENT, (one) => tlv(0x24, sequence(derOf(one)))),
      withElement([1, 0, 2, 1], (one) => Buffer.concat([derOf(one), contextConstructed(0, octetString(Buffer.from('x')))])),
      withElement(SIGNER_INFO, (one) => Buffer.concat([derOf(one), derOf(one)]), indefinite),
      withElement(SIGNATURE, (one) => Buffer.concat([derOf(one), derOf(one)]), indefinite),
      withElement(SIGNATURE, (one) => tlv(0x24, derOf(one), octetString(Buffer.from([0])))),
      withElement(SIGNATURE, (one) => indefinite(0x24, derOf(one), octetString(Buffer.from([0, 0])))),
      withElement(SIGNED_ATTRIBUTES, (one) => Buffer.concat([derOf(one), derOf(one)]), indefinite),
    ];
    for (const [i, attack] of attacks.entries()) expect([i, (await raw(attack)).ok]).toEqual([i, false]);
  });

  it('a certificate must be the DER that its issuer signed', async () => {
    for (const place of [0, 1]) {
      const inBer = withElement([1, 0, 3, place], (certificate) => indefinite(certificate.tag, contentsOf(certificate)));
      expect(await raw(inBer)).toMatchObject(refused('der_length'));
    }
    const stray = withElement([1, 0, 3], (set) => tlv(set.tag, contentsOf(set), indefinite(TAG.sequence, octetString(Buffer.from('x')))));
    expect(await raw(stray)).toMatchObject({ ok: true });
  });

  it('a second certificate with the signer’s name is ambiguous, even if unreadable, because other readers may accept it', async () => {
    const twin = contentsOf(parseDer(good.signer.der));
    const [inBer, withRest] = [indefinite(TAG.sequence, twin), tlv(TAG.sequence, twin, tlv(0x05))];
    for (const other of [inBer, withRest]) {
      const attack = withElement([1, 0, 3], (set) => tlv(set.tag, other, contentsOf(set)));
      expect(await raw(attack)).toMatchObject(refused('signer_certificate_ambiguous'));
    }
  });
});
