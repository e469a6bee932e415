import { contentsOf, type Der, membersOf, TAG } from '../asn1/der.ts';
import { OID } from '../asn1/oids.ts';
import { refuse } from '../refusal/refusal.ts';
import { algorithmIdentifierOf, DIGEST_OCTETS, type DigestAlgorithm, digestOf } from '../x509/algorithms.ts';

/** The data that a time-stamp covers, as a digest and its algorithm (MessageImprint, RFC 3161 §2.4.1). */
export interface MessageImprint {
  readonly algorithm: DigestAlgorithm;
  readonly digest: Buffer;
}

/** The refusal codes for the algorithm of an imprint. */
export const IMPRINT_CODES = { weak: 'imprint_algorithm_weak', unknown: 'imprint_algorithm_unknown' } as const;

/**
 * Reads a MessageImprint. The algorithm must be accepted (refusal 18), and the digest must have the right length (refusal 17). If `expected` is given,
 * the algorithm (refusal 16) and the digest (refusal 15) must match.
 */
export function imprintOf(element: Der, expected?: MessageImprint): MessageImprint {
  const members = membersOf(element, 'messageImprint');
  const identifier = algorithmIdentifierOf(members.take(TAG.sequence, 'hashAlgorithm'), 'the algorithm of the imprint');
  const digest = contentsOf(members.take(TAG.octetString, 'hashedMessage'));
  members.end();
  if (expected !== undefined && identifier.oid !== OID[expected.algorithm]) {
    refuse('imprint_algorithm_mismatch', `The imprint is of ${identifier.oid}, not of ${expected.algorithm}.`);
  }
  const algorithm = digestOf(identifier, 'the algorithm of the imprint', IMPRINT_CODES);
  if (digest.length !== DIGEST_OCTETS[algorithm]) {
    refuse('imprint_length', `A ${algorithm} imprint has ${DIGEST_OCTETS[algorithm]} octets, this one ${digest.length}.`);
  }
  if (expected !== undefined && !digest.equals(expected.digest)) refuse('imprint_mismatch', 'The imprint belongs to other data.');
  return { algorithm, digest };
}
