import { type Der, membersOf, parseDer, TAG } from '../asn1/der.ts';
import { integerOf, isTrue, oidOf, smallIntegerOf } from '../asn1/der-values.ts';
import { boolean, integer, objectIdentifier, octetString, sequence } from '../asn1/der-writer.ts';
import { OID } from '../asn1/oids.ts';
import { type Refused, refuse, refusedBy } from '../refusal/refusal.ts';
import { DIGEST_OCTETS, type ImprintHash } from '../x509/algorithms.ts';
import { imprintOf } from './imprint.ts';
import type { TimeStampRequest } from './types.ts';

export interface RequestFields {
  readonly hashAlgorithm: ImprintHash;
  readonly digest: Uint8Array;
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
 * DER of a TimeStampReq (RFC 3161 §2.4.1).
 *
 * @throws RangeError for a digest or nonce of the wrong length, or a policy that is no OID
 */
export function encodeRequest(fields: RequestFields): Buffer {
  const { hashAlgorithm, digest, policy, nonce, certReq = true } = fields;
  if (digest.length !== DIGEST_OCTETS[hashAlgorithm]) throw new RangeError(`${hashAlgorithm} has ${DIGEST_OCTETS[hashAlgorithm]} octets`);
  if (nonce.length < MIN_NONCE_OCTETS || nonce.length > MAX_NONCE_OCTETS) throw new RangeError('a nonce has 8 to 32 octets');
  return sequence(
    integer(1),
    sequence(sequence(objectIdentifier(OID[hashAlgorithm])), octetString(digest)),
    ...(policy === undefined ? [] : [objectIdentifier(policy)]),
    integer(BigInt(`0x${Buffer.from(nonce).toString('hex')}`)),
    ...(certReq ? [boolean(true)] : []),
  );
}

/** Reads a TimeStampReq. Never throws, whatever the bytes. */
export function decodeRequest(der: Uint8Array): { readonly ok: true; readonly request: TimeStampRequest } | Refused {
  try {
    return { ok: true, request: requestOf(parseDer(der)) };
  } catch (error) {
    return refusedBy(error);
  }
}

/** @throws Refusal */
export function requestOf(element: Der): TimeStampRequest {
  const members = membersOf(element, 'TimeStampReq');
  if (smallIntegerOf(members.take(TAG.integer, 'version')) !== 1) refuse('der_malformed', 'TimeStampReq is not of version 1.');
  const imprint = imprintOf(members.take(TAG.sequence, 'messageImprint'));
  const policy = members.optional(TAG.oid);
  const nonce = members.optional(TAG.integer);
  const certReq = members.optional(TAG.boolean);
  members.optional(TAG.contextConstructed(0)); // Extensions ask the TSA for something; they say nothing about the answer's form.
  members.end();
  return {
    hashAlgorithm: imprint.hashAlgorithm,
    digest: imprint.digest,
    policy: policy === undefined ? undefined : oidOf(policy, 'reqPolicy'),
    nonce: nonce === undefined ? undefined : integerOf(nonce, 'nonce'),
    certReq: isTrue(certReq, 'certReq'),
  };
}
