import { contentsOf, type Der, membersOf, TAG } from '../asn1/der.ts';
import { OID } from '../asn1/oids.ts';
import { refuse } from '../refusal/refusal.ts';
import type { ImprintHash } from '../x509/algorithms.ts';
import { algorithmIdentifierOf, DIGEST_OCTETS, digestOf } from '../x509/algorithms.ts';

/** MessageImprint (RFC 3161 §2.4.1). */
export interface Imprint {
  readonly hashAlgorithm: ImprintHash;
  readonly digest: Buffer;
}

const IMPRINT_CODES = { weak: 'imprint_algorithm_weak', unknown: 'imprint_algorithm_unknown' } as const;

/**
 * Reads a MessageImprint whose algorithm is accepted (18) and whose digest has its length (17); when `expected` is given, one that is
 * the same in algorithm (16) and digest (15).
 */
export function imprintOf(element: Der, expected?: { readonly hashAlgorithm: ImprintHash; readonly digest: Uint8Array }): Imprint {
  const members = membersOf(element, 'messageImprint');
  const algorithm = algorithmIdentifierOf(members.take(TAG.sequence, 'hashAlgorithm'), 'the algorithm of the imprint');
  const digest = contentsOf(members.take(TAG.octetString, 'hashedMessage'));
  members.end();
  if (expected !== undefined && algorithm.oid !== OID[expected.hashAlgorithm]) {
    refuse('imprint_algorithm_mismatch', `The imprint is of ${algorithm.oid}, not of ${expected.hashAlgorithm}.`);
  }
  const hashAlgorithm = digestOf(algorithm, 'the algorithm of the imprint', IMPRINT_CODES);
  if (digest.length !== DIGEST_OCTETS[hashAlgorithm]) {
    refuse('imprint_length', `A ${hashAlgorithm} imprint has ${DIGEST_OCTETS[hashAlgorithm]} octets, this one ${digest.length}.`);
  }
  if (expected !== undefined && !digest.equals(expected.digest)) refuse('imprint_mismatch', 'The imprint is that of other data.');
  return { hashAlgorithm, digest };
}
