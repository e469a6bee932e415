import { type Der, type DerLimits, derOf, membersOf, parseDer, TAG } from '../asn1/der.ts';
import { integerOf, isTrue, oidOf, smallIntegerOf } from '../asn1/der-values.ts';
import { boolean, integer, nullValue, objectIdentifier, octetString, sequence } from '../asn1/der-writer.ts';
import { OID } from '../asn1/oids.ts';
import { type Refused, refuse, refusedBy } from '../refusal/refusal.ts';
import { DIGEST_OCTETS } from '../x509/algorithms.ts';
import { imprintOf, type MessageImprint } from './imprint.ts';

/** A TimeStampReq (RFC 3161 §2.4.1). */
export interface TimeStampRequest {
  /** RFC 3161 defines only version 1. */
  readonly version: number;
  readonly imprint: MessageImprint;
  /** The DER AlgorithmIdentifier of the imprint, exactly as received: the token repeats its octets. */
  readonly imprintAlgorithmDer: Buffer;
  /** Whether this AlgorithmIdentifier has NULL parameters instead of none. */
  readonly hasNullParameters: boolean;
  /** Dotted OID. Undefined: any policy is accepted. */
  readonly policy: string | undefined;
  readonly nonce: bigint | undefined;
  readonly certReq: boolean;
  /** Whether the request has extensions. They ask the TSA for something, and are not read here. */
  readonly hasExtensions: boolean;
}

export interface RequestFields {
  readonly imprint: MessageImprint;
  /** Writes NULL as the parameters of the hash algorithm. By default, there are no parameters (RFC 5754 §2). */
  readonly hasNullParameters?: boolean;
  /** Dotted OID. */
  readonly policy?: string | undefined;
  /**
   * Our own nonce: 8 to 32 random octets, so that an old answer cannot be replayed. Or, as a number, the nonce of a client, which is sent unchanged (at
   * most 64 octets). Undefined: no nonce.
   */
  readonly nonce: Uint8Array | bigint | undefined;
  /** Requests the signer's certificate in the token. By default true, because third parties cannot verify a token without this certificate. */
  readonly certReq?: boolean;
}

const MIN_NONCE_OCTETS = 8;
const MAX_NONCE_OCTETS = 32;
/** Maximum length of a client's nonce, in octets. */
const MAX_FOREIGN_NONCE_OCTETS = 64;

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
 * Writes the DER of a TimeStampReq.
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

/** Reads the DER of a TimeStampReq. Never throws, whatever the bytes are. */
export function decodeRequest(der: Uint8Array): { readonly ok: true; readonly request: TimeStampRequest } | Refused {
  try {
    return { ok: true, request: requestOf(der) };
  } catch (error) {
    return refusedBy(error);
  }
}

/** The limits for a request. Normally it has about 70 octets. */
const REQUEST_LIMITS: DerLimits = { maxBytes: 4096, maxElements: 64, maxDepth: 8 };

/** Reads the DER of a TimeStampReq. @throws Refusal if it cannot be read */
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

/** Reads a nonce from an INTEGER. It may be negative, but must not be too large (refusal 9). */
export function nonceOf(element: Der): bigint {
  const octets = element.end - element.content;
  if (octets > MAX_FOREIGN_NONCE_OCTETS) refuse('nonce_too_large', `The nonce has more than ${MAX_FOREIGN_NONCE_OCTETS} octets.`);
  return integerOf(element, 'nonce');
}
