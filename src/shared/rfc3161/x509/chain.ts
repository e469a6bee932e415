import { Refusal, refuse } from '../refusal/refusal.ts';
import { signatureAlgorithmOf } from './algorithms.ts';
import type { Certificate } from './certificate.ts';
import { isSameName, isSelfIssued } from './name.ts';
import { isSignatureOfSync } from './public-key.ts';

/** This module builds chains of certificates from a signer to a trust anchor (RFC 5280 §6) by names and signatures. */

/** The certificates from the signer to the anchor, inclusive. Only one if the signer itself is an anchor. */
export type Chain = readonly [Certificate, ...Certificate[]];

/** The sentence of `untrusted_root`. */
export const NO_CHAIN = 'No issuer of the chain is a trust anchor.';

const MAX_CHAIN = 8;
/** The maximum cost of one search. It is enough for any honest token, and limits the time for a token with very many certificates of one name. */
const MAX_COST = 48;

/** Estimates the cost of checking the signature of a certificate from its length. P-256 and RSA with up to 4 096 bits cost 1. */
function costOf({ signature: { length } }: Certificate): number {
  if (length > 512) return 8; // RSA with more bits
  return length > 72 && length < 256 ? 4 : 1; // P-384 and P-521
}

/**
 * Finds the first chain from `signer` to a certificate for which `isAnchor` is true, through `given` certificates, whose signatures are valid
 * and that `accept` permits. Certificates are tried in the given order, and only signatures in possible chains are verified.
 *
 * @param accept throws a Refusal for a chain that is not acceptable
 * @throws Refusal if there is no such chain: why the first complete chain was refused, or why the search found no complete chain (refusals 42, 46)
 */
export function findChain(
  signer: Certificate,
  given: readonly Certificate[],
  isAnchor: (certificate: Certificate) => boolean,
  accept: (chain: Chain) => void,
): Chain {
  const pool = [...new Map(given.map((certificate) => [certificate.fingerprint, certificate])).values()];
  let refusedChain: Refusal | undefined;
  let brokenLink: Refusal | undefined;
  let costLeft = MAX_COST;

  const extend = (chain: Chain): Chain | undefined => {
    const last = chain.at(-1)!;
    if (isAnchor(last)) {
      const refusal = refusalOf(() => accept(chain));
      refusedChain ??= refusal;
      return refusal === undefined ? chain : undefined;
    }
    if (chain.length === MAX_CHAIN) return undefined;
    for (const issuer of issuersOf(last, pool)) {
      if (chain.some(({ fingerprint }) => fingerprint === issuer.fingerprint)) continue;
      costLeft -= costOf(last);
      if (costLeft < 0) return undefined;
      const refusal = refusalOf(() => checkIssued(last, issuer));
      if (refusal === undefined) {
        const found = extend([...chain, issuer]);
        if (found !== undefined) return found;
      } else if (!isSelfIssued(last)) {
        // A self-issued certificate, such as an untrusted root, need not be signed by an anchor of the same name. So this is not a broken link.
        brokenLink ??= refusal;
      }
    }
    return undefined;
  };
  const found = extend([signer]);
  if (found !== undefined) return found;
  throw refusedChain ?? brokenLink ?? new Refusal('untrusted_root', NO_CHAIN);
}

function refusalOf(check: () => void): Refusal | undefined {
  try {
    check();
    return undefined;
  } catch (error) {
    if (error instanceof Refusal) return error;
    throw error;
  }
}

/**
 * Returns the certificates that may be the issuer, by name. Those with the right key identifier come first (RFC 5280 §4.2.1.1), and those with a
 * different one are left out: a CA may have several keys, and anyone may use its name.
 */
function issuersOf({ issuer, extensions }: Certificate, pool: readonly Certificate[]): readonly Certificate[] {
  const named = pool.filter(({ subject }) => isSameName(subject, issuer));
  const wanted = extensions.authorityKeyIdentifier;
  const keyOf = (certificate: Certificate) => certificate.extensions.subjectKeyIdentifier;
  if (wanted === undefined) return named;
  return [...named.filter((one) => keyOf(one)?.equals(wanted)), ...named.filter((one) => keyOf(one) === undefined)];
}

/** Returns true if the key of `issuer` signed the certificate. Does not compare names. @throws Refusal if key or algorithm are not accepted */
export function isIssuedBy(certificate: Certificate, issuer: Certificate): boolean {
  const algorithm = signatureAlgorithmOf(certificate.signatureAlgorithm, 'the signature of a certificate');
  return isSignatureOfSync(issuer.publicKey(), algorithm, certificate.signed, certificate.signature);
}

/** Whether `issuer` certified the certificate, by name and signature. */
export const isIssuerOf = (issuer: Certificate, certificate: Certificate): boolean =>
  isSameName(issuer.subject, certificate.issuer) && refusalOf(() => checkIssued(certificate, issuer)) === undefined;

function checkIssued(certificate: Certificate, issuer: Certificate): void {
  if (!isIssuedBy(certificate, issuer)) {
    refuse('chain_signature_invalid', 'A certificate was not signed by the one with its issuer’s name.');
  }
}
