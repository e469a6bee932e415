import { readFile } from 'node:fs/promises';
import fc from 'fast-check';
import { expect } from 'vitest';
import { normalizeBer } from '../../src/shared/rfc3161/asn1/ber.ts';
import { derOf, parseDer } from '../../src/shared/rfc3161/asn1/der.ts';
import { type SignedData, signedDataOf } from '../../src/shared/rfc3161/cms/signed-data.ts';
import { Refusal } from '../../src/shared/rfc3161/refusal/refusal.ts';
import type { Verified } from '../../src/shared/rfc3161/tsp/types.ts';
import { berOf, chooserOf } from './ber-forms.ts';
import { mutated, mutations } from './der-mutation.ts';
import { openssl } from './openssl-tsa.ts';
import { judgeReal, type RealToken, readReal, trustOf } from './real-tokens.ts';
import { withFile } from './with-file.ts';

/** The statement about a token, without its bytes and added data. */
const statementOf = ({ token: _, unchecked: __, ...statement }: Verified) => statement;

/** The signed data and the signature. */
const coveredOf = ({ eContent, signer }: SignedData) => ({
  eContent,
  signedAttributes: derOf(signer.signedAttributes),
  signature: signer.signature,
});

const readSigned = (bytes: Buffer): SignedData => signedDataOf(parseDer(normalizeBer(bytes).der));

/** A change of structure, of form, and of one octet; each may be empty. */
const changes = fc.record({
  structure: fc.option(mutations, { nil: [], freq: 3 }),
  form: fc.option(fc.uint8Array({ minLength: 16, maxLength: 64 }), { nil: undefined, freq: 2 }),
  octet: fc.option(fc.tuple(fc.nat(), fc.integer({ min: 1, max: 255 })), { nil: undefined, freq: 1 }),
});

/** In other forms, except signed parts that must be DER; data that is not DER stays unchanged. */
function inForms(structured: Buffer, form: Uint8Array, signedParts: readonly Buffer[]): Buffer {
  try {
    return berOf(parseDer(structured), chooserOf(form), (element) => signedParts.some((part) => part.equals(derOf(element))));
  } catch (error) {
    if (error instanceof Refusal) return structured;
    throw error;
  }
}

/**
 * Mutates a valid token `runs` times in every way of its encoding, and expects each mutant to be refused, or to be the same token:
 * the same statement, with content, signed attributes and signature octet for octet. OpenSSL must read the same content out of it.
 *
 * @returns how many were refused and accepted, and for how many accepted ones OpenSSL read no content
 */
export async function expectMutantsHarmless(one: RealToken, runs: number): Promise<{ refused: number; taken: number; unread: number }> {
  const original = readReal(one.token);
  const trust = trustOf(one);
  const good = await judgeReal(one, original, trust);
  if (!good.ok) throw new Error(`${one.token}: ${good.code}`);
  const statement = statementOf(good);
  const signed = readSigned(original);
  const covered = coveredOf(signed);
  const signedParts = [covered.signedAttributes, ...signed.certificates.map(derOf)];
  const der = normalizeBer(original).der;
  const taken: Buffer[] = [];
  let refused = 0;
  await fc.assert(
    fc.asyncProperty(changes, async ({ structure, form, octet }) => {
      const structured = structure.length === 0 ? der : mutated(der, structure);
      const bent = Buffer.from(form === undefined ? structured : inForms(structured, form, signedParts));
      if (octet !== undefined && bent.length > 0) bent[octet[0] % bent.length]! ^= octet[1];
      const result = await judgeReal(one, bent, trust);
      if (!result.ok) {
        if (result.code === 'verifier_failed') throw result.cause;
        refused += 1;
        return;
      }
      expect(statementOf(result)).toEqual(statement);
      expect(coveredOf(readSigned(bent))).toEqual(covered);
      taken.push(bent);
    }),
    { numRuns: runs, seed: 3161 },
  );
  const distinct = [...new Map(taken.map((bent) => [bent.toString('base64'), bent])).values()];
  let unread = 0;
  for (const bent of distinct) {
    const content = await opensslContent(bent);
    if (content === undefined) unread += 1;
    else expect(content).toEqual(covered.eContent);
  }
  return { refused, taken: taken.length, unread };
}

/** The content of a token as OpenSSL reads it, even if it refuses the signature; undefined: it cannot read the token. */
function opensslContent(token: Buffer): Promise<Buffer | undefined> {
  return withFile(token, async (path) => {
    const unjudged = ['-noverify', '-nosigs', '-no_attr_verify', '-no_content_verify'];
    const { ok } = await openssl('cms', '-verify', ...unjudged, '-binary', '-inform', 'DER', '-in', path, '-out', `${path}.content`);
    return ok ? readFile(`${path}.content`) : undefined;
  });
}
