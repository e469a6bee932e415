import { z } from 'zod';
import { digestCharacters, imprintAlgorithms } from '../domain/stamp.ts';
import { decodeCanonicalBase64 } from './stamp.ts';

export const timeStampQuery = z
  .string()
  .meta({ id: 'TimeStampQuery', format: 'binary', description: 'DER of a TimeStampReq (RFC 3161 §2.4.1)' });

const octetsOf = (algorithm: keyof typeof digestCharacters) => digestCharacters[algorithm] / 2;

const shape = {
  artifactHash: z.string().describe('base64 of the digest'),
  hashAlgorithm: z.enum(imprintAlgorithms),
  certificates: z.boolean().default(false).describe('whether the token should include its certificates'),
  tsaPolicyOID: z
    .string()
    .regex(/^([01]\.([0-9]|[1-3][0-9])|2\.(0|[1-9]\d{0,38}))(\.(0|[1-9]\d{0,38})){0,30}$|^$/)
    .optional(),
};

/** The JSON request of sigstore's timestamp-authority, for the documentation only. `sigstoreQuery` parses requests. */
export const sigstoreQueryShown = z
  .object({ ...shape, nonce: z.int().optional().describe('up to 64 octets') })
  .meta({ id: 'SigstoreTimestampRequest' });

/** Parses the JSON request of sigstore's timestamp-authority. The nonce is a bigint, because it can be larger than a JavaScript number. */
export const sigstoreQuery = z.object({ ...shape, nonce: z.bigint().nullish() }).transform((given, context) => {
  const { artifactHash, hashAlgorithm: algorithm, certificates, tsaPolicyOID, nonce } = given;
  const digest = decodeCanonicalBase64(artifactHash);
  if (digest?.length !== octetsOf(algorithm)) {
    context.addIssue({
      code: 'custom',
      message: `takes base64 of the ${octetsOf(algorithm)} octets of a ${algorithm}`,
      path: ['artifactHash'],
    });
    return z.NEVER;
  }
  return { imprint: { algorithm, digest }, certReq: certificates, policy: tsaPolicyOID || undefined, nonce: nonce ?? undefined };
});
