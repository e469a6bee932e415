import { describe, expect, it } from 'vitest';
import { contextPrimitive, integer, nullValue, sequence } from '../../src/shared/rfc3161/asn1/der-writer.ts';
import { extension } from '../../src/tsa/certificate.ts';
import { encoded, mutableOf } from '../support/der-mutation.ts';
import { judge } from '../support/judge.ts';
import { createTsaLab } from '../support/tsa-lab.ts';
import type { Seams } from '../support/tsa-seams.ts';

/** TSTInfo (RFC 3161 §2.4.2) in forms that are rarely checked. */

const lab = createTsaLab();
const given = (seams: Seams) => judge(lab.specimen({ seams }));
const refused = (code: string) => ({ ok: false, code });
const accepted = { ok: true };

describe('genTime of TSTInfo (22)', () => {
  it('is a GeneralizedTime, not a text that looks like one', async () => {
    const tagged = (tag: number) =>
      given({
        eContent: (der) => {
          const root = mutableOf(der);
          root.children[4]!.tag = tag;
          return encoded(root);
        },
      });
    expect(await tagged(0x18)).toMatchObject(accepted);
    for (const text of [0x0c, 0x13, 0x17]) expect(await tagged(text)).toMatchObject(refused('gen_time_malformed'));
  });
});

describe('accuracy of TSTInfo', () => {
  it('has its parts in DER, although their tags hide the type', async () => {
    const accuracy = (...parts: readonly Buffer[]) => {
      // Without ordering and nonce, accuracy is the last member.
      const specimen = lab.specimen({
        ask: { nonce: undefined },
        profile: { accuracy: { seconds: 1 } },
        seams: { eContent: (der) => retagged(der, parts) },
      });
      return judge(specimen);
    };
    const retagged = (der: Buffer, parts: readonly Buffer[]) => {
      const root = mutableOf(der);
      root.children[5] = mutableOf(sequence(...parts));
      return encoded(root);
    };
    expect(await accuracy(integer(1), contextPrimitive(0, Buffer.from([5])))).toMatchObject({ ok: true, accuracyMicroseconds: 1_005_000n });
    expect(await accuracy(integer(1), contextPrimitive(0, Buffer.from([0, 5])))).toMatchObject(refused('der_not_canonical'));
    expect(await accuracy(integer(1), contextPrimitive(0))).toMatchObject(refused('der_not_canonical'));
    expect(await accuracy(contextPrimitive(1, Buffer.from([5])), integer(1))).toMatchObject(refused('der_trailing'));
  });
});

describe('extensions of TSTInfo', () => {
  const of = (...extensions: readonly Buffer[]) => given({ fields: (fields) => ({ ...fields, extensions }) });
  it('are returned if they are not critical; an empty list and a repeated extension are refused', async () => {
    expect(await of(extension('2.999.1', false, nullValue()))).toMatchObject({
      ok: true,
      extensions: [{ type: '2.999.1', value: nullValue() }],
    });
    expect(await of()).toMatchObject(refused('der_malformed'));
    expect(await of(extension('2.999.1', false, nullValue()), extension('2.999.1', false, nullValue()))).toMatchObject(
      refused('der_malformed'),
    );
  });
});
