import { type DerLimits, derOf, parseDer } from '../asn1/der.ts';
import { integerOf, isTrue, oidOf, smallIntegerOf } from '../asn1/der-values.ts';
import { boolean, integer, objectIdentifier, octetString, sequence } from '../asn1/der-writer.ts';
import { membersOf } from '../asn1/members.ts';
import { OID } from '../asn1/oids.ts';
import { TAG } from '../asn1/tags.ts';
import { type Refused, refusedBy } from '../refusal/refusal.ts';
import { DIGEST_OCTETS } from '../x509/algorithms.ts';
import { type Imprint, imprintOf } from './imprint.ts';

/** A TimeStampReq (RFC 3161 §2.4.1). */
export interface TimeStampRequest {
  /** 1 is the only one that is known. */
  readonly version: number;
  readonly imprint: Imprint;
  /** DER AlgorithmIdentifier of the imprint as it was sent: the token repeats it octet for octet. */
  readonly imprintAlgorithmDer: Buffer;
  /** Dotted OID; undefined: any policy. */
  readonly policy: string | undefined;
  readonly nonce: bigint | undefined;
  readonly certReq: boolean;
  /** Extensions ask the TSA for something; they say nothing about the answer's form. */
  readonly hasExtensions: boolean;
}

export interface RequestFields {
  readonly imprint: Imprint;
  /** Dotted OID. */
  readonly policy?: string | undefined;
  /** At least 8 random octets (64 bits), at most 32: what makes an old answer useless. */
  readonly nonce: Uint8Array;
  /** Ask for the signer's certificate in the token; default true, as a token without it cannot be judged by a stranger. */
  readonly certReq?: boolean;
}

const MIN_NONCE_OCTETS = 8;
const MAX_NONCE_OCTETS = 32;

/**
 * DER of a TimeStampReq.
 *
 * @throws RangeError for a digest or nonce of the wrong length, or a policy that is no OID
 */
export function encodeRequest({ imprint, policy, nonce, certReq = true }: RequestFields): Buffer {
  const { algorithm, digest } = imprint;
  if (digest.length !== DIGEST_OCTETS[algorithm]) throw new RangeError(`${algorithm} has ${DIGEST_OCTETS[algorithm]} octets`);
  if (nonce.length < MIN_NONCE_OCTETS || nonce.length > MAX_NONCE_OCTETS) throw new RangeError('a nonce has 8 to 32 octets');
  return sequence(
    integer(1),
    sequence(sequence(objectIdentifier(OID[algorithm])), octetString(digest)),
    ...(policy === undefined ? [] : [objectIdentifier(policy)]),
    integer(BigInt(`0x${Buffer.from(nonce).toString('hex')}`)),
    ...(certReq ? [boolean(true)] : []),
  );
}

/** Reads the DER of a TimeStampReq. Never throws, whatever the bytes. */
export function decodeRequest(der: Uint8Array): { readonly ok: true; readonly request: TimeStampRequest } | Refused {
  try {
    return { ok: true, request: requestOf(der) };
  } catch (error) {
    return refusedBy(error);
  }
}

/** A request has about 70 octets. */
const REQUEST_LIMITS: DerLimits = { maxBytes: 4096, maxElements: 64, maxDepth: 8 };

/** @throws Refusal */
export function requestOf(der: Uint8Array): TimeStampRequest {
  const members = membersOf(parseDer(der, REQUEST_LIMITS), 'TimeStampReq');
  const version = smallIntegerOf(members.take(TAG.integer, 'version'));
  const messageImprint = members.take(TAG.sequence, 'messageImprint');
  const imprint = imprintOf(messageImprint);
  const policy = members.optional(TAG.oid);
  const nonce = members.optional(TAG.integer);
  const certReq = members.optional(TAG.boolean);
  const extensions = members.optional(TAG.contextConstructed(0));
  members.end();
  return {
    version,
    imprint,
    imprintAlgorithmDer: derOf(messageImprint.children[0]!),
    policy: policy === undefined ? undefined : oidOf(policy, 'reqPolicy'),
    nonce: nonce === undefined ? undefined : integerOf(nonce, 'nonce'),
    certReq: isTrue(certReq),
    hasExtensions: extensions !== undefined,
  };
}
