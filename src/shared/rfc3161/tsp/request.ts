import { type Der, type DerLimits, derOf, parseDer } from '../asn1/der.ts';
import { integerOf, isTrue, oidOf, smallIntegerOf } from '../asn1/der-values.ts';
import { boolean, integer, nullValue, objectIdentifier, octetString, sequence } from '../asn1/der-writer.ts';
import { membersOf } from '../asn1/members.ts';
import { OID } from '../asn1/oids.ts';
import { TAG } from '../asn1/tags.ts';
import { type Refused, refuse, refusedBy } from '../refusal/refusal.ts';
import { DIGEST_OCTETS } from '../x509/algorithms.ts';
import { type Imprint, imprintOf } from './imprint.ts';

/** A TimeStampReq (RFC 3161 §2.4.1). */
export interface TimeStampRequest {
  /** Only 1 is known. */
  readonly version: number;
  readonly imprint: Imprint;
  /** DER AlgorithmIdentifier of the imprint as sent: the token repeats it octet for octet. */
  readonly imprintAlgorithmDer: Buffer;
  /** Whether that AlgorithmIdentifier has NULL parameters instead of none. */
  readonly hasNullParameters: boolean;
  /** Dotted OID; undefined: any policy. */
  readonly policy: string | undefined;
  readonly nonce: bigint | undefined;
  readonly certReq: boolean;
  /** Extensions ask the TSA for something; they do not affect the form of the answer. */
  readonly hasExtensions: boolean;
}

export interface RequestFields {
  readonly imprint: Imprint;
  /** Default: the hash algorithm has no parameters (RFC 5754 §2). */
  readonly hasNullParameters?: boolean;
  /** Dotted OID. */
  readonly policy?: string | undefined;
  /**
   * At least 8 random octets (64 bits), at most 32, so that an old answer cannot be replayed. A number is a client's nonce, passed on unchanged (at
   * most 64 octets); undefined: none.
   */
  readonly nonce: Uint8Array | bigint | undefined;
  /** Request the signer's certificate in the token. Default true, because third parties cannot verify a token without it. */
  readonly certReq?: boolean;
}

const MIN_NONCE_OCTETS = 8;
const MAX_NONCE_OCTETS = 32;
/** The maximum size of a client's nonce. */
export const MAX_FOREIGN_NONCE_OCTETS = 64;

function encodeNonce(nonce: Uint8Array | bigint): Buffer {
  if (typeof nonce === 'bigint') {
    if (BigInt.asIntN(MAX_FOREIGN_NONCE_OCTETS * 8, nonce) !== nonce)
      throw new RangeError(`a nonce has at most ${MAX_FOREIGN_NONCE_OCTETS} octets`);
    return integer(nonce);
  }
  if (nonce.length < MIN_NONCE_OCTETS || nonce.length > MAX_NONCE_OCTETS) throw new RangeError('a nonce has 8 to 32 octets');
  return integer(BigInt(`0x${Buffer.from(nonce).toString('hex')}`));
}

/**
 * DER of a TimeStampReq.
 *
 * @throws RangeError for a digest or nonce of the wrong length, or a policy that is not an OID
 */
export function encodeRequest({ imprint, hasNullParameters = false, policy, nonce, certReq = true }: RequestFields): Buffer {
  const { algorithm, digest } = imprint;
  if (digest.length !== DIGEST_OCTETS[algorithm]) throw new RangeError(`${algorithm} has ${DIGEST_OCTETS[algorithm]} octets`);
  return sequence(
    integer(1),
    sequence(sequence(objectIdentifier(OID[algorithm]), ...(hasNullParameters ? [nullValue()] : [])), octetString(digest)),
    ...(policy === undefined ? [] : [objectIdentifier(policy)]),
    ...(nonce === undefined ? [] : [encodeNonce(nonce)]),
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
  const algorithm = messageImprint.children[0]!;
  const policy = members.optional(TAG.oid);
  const nonce = members.optional(TAG.integer);
  const certReq = members.optional(TAG.boolean);
  const extensions = members.optional(TAG.contextConstructed(0));
  members.end();
  return {
    version,
    imprint,
    imprintAlgorithmDer: derOf(algorithm),
    hasNullParameters: algorithm.children.length > 1,
    policy: policy === undefined ? undefined : oidOf(policy, 'reqPolicy'),
    nonce: nonce === undefined ? undefined : nonceOf(nonce),
    certReq: isTrue(certReq),
    hasExtensions: extensions !== undefined,
  };
}

/** The nonce in an INTEGER: any sign, and not larger than any request needs (refusal 9). */
export function nonceOf(element: Der): bigint {
  const octets = element.end - element.content;
  if (octets > MAX_FOREIGN_NONCE_OCTETS) refuse('nonce_too_large', `The nonce has more than ${MAX_FOREIGN_NONCE_OCTETS} octets.`);
  return integerOf(element, 'nonce');
}
