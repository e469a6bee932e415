import { contentsOf, type Der } from '../asn1/der.ts';
import { membersOf } from '../asn1/members.ts';
import { OID } from '../asn1/oids.ts';
import { TAG } from '../asn1/tags.ts';
import { refuse } from '../refusal/refusal.ts';
import { algorithmIdentifierOf, DIGEST_OCTETS, type DigestAlgorithm, digestOf } from '../x509/algorithms.ts';

/** What a time-stamp is for: the digest of some data, and how it was made (MessageImprint, RFC 3161 §2.4.1). */
export interface Imprint {
  readonly algorithm: DigestAlgorithm;
  readonly digest: Buffer;
}

/** How an imprint's algorithm is refused. */
export const IMPRINT_CODES = { weak: 'imprint_algorithm_weak', unknown: 'imprint_algorithm_unknown' } as const;

/**
 * Reads a MessageImprint whose algorithm is accepted (18) and whose digest has its length (17); when `expected` is given, one that is
 * the same in algorithm (16) and digest (15).
 */
export function imprintOf(element: Der, expected?: Imprint): Imprint {
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
  if (expected !== undefined && !digest.equals(expected.digest)) refuse('imprint_mismatch', 'The imprint is that of other data.');
  return { algorithm, digest };
}
