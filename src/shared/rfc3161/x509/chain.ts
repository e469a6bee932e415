import { OID } from '../asn1/oids.ts';
import { Refusal, refuse } from '../refusal/refusal.ts';
import { signatureAlgorithmOf } from './algorithms.ts';
import type { Certificate } from './certificate.ts';
import { KEY_USAGE_BIT } from './certificate-extensions.ts';
import { isCrlOf, isRevokedAt, type RevocationList } from './crl.ts';
import { isSameName } from './name.ts';
import { isSignatureOf } from './public-key.ts';

/**
 * Paths from a signer to a trust anchor (RFC 5280 §6). Which signatures hold never changes, so that is found out once; validity and
 * revocation are judged at the genTime of each token.
 */

/** From the signer to the anchor, both included; a signer that is an anchor itself stands alone. */
export type Chain = readonly [Certificate, ...Certificate[]];

const MAX_CHAIN = 8;
/** Enough for any honest set of certificates, and a bound on what a token full of certificates of one name can cost. */
const MAX_SIGNATURE_CHECKS = 48;

/**
 * Every chain of valid signatures from `signer` to one of `anchors`, through `others`.
 *
 * @throws Refusal when there is none, for the best reason that was met (42, 46)
 */
export function findChains(signer: Certificate, anchors: readonly Certificate[], others: readonly Certificate[]): readonly Chain[] {
  if (anchors.length === 0) refuse('trust_store_empty', 'There is no trust anchor.');
  const isAnchor = new Set(anchors.map((anchor) => anchor.fingerprint));
  const pool = [...new Map([...anchors, ...others].map((certificate) => [certificate.fingerprint, certificate])).values()];
  const chains: Chain[] = [];
  const refusals: Refusal[] = [];
  let checksLeft = MAX_SIGNATURE_CHECKS;

  const extend = (chain: Chain): void => {
    const last = chain.at(-1)!;
    if (isAnchor.has(last.fingerprint)) {
      chains.push(chain);
      return;
    }
    if (chain.length === MAX_CHAIN) return;
    for (const issuer of pool) {
      if (!isNamedIssuer(issuer, last) || chain.some(({ fingerprint }) => fingerprint === issuer.fingerprint)) continue;
      if (--checksLeft < 0) return;
      try {
        checkIssued(last, issuer);
      } catch (error) {
        if (!(error instanceof Refusal)) throw error;
        // A root that is not trusted is signed by itself, not by the anchor of the same name: that says nothing about the chain.
        if (!isSameName(last.subject, last.issuer)) refusals.push(error);
        continue;
      }
      extend([...chain, issuer]);
    }
  };
  extend([signer]);
  if (chains.length === 0) throw refusals[0] ?? new Refusal('untrusted_root', 'No issuer of the chain is a trust anchor.');
  return chains;
}

/** By name, and by key identifier where both have one (RFC 5280 §4.2.1.1): a CA may have several keys, and anybody may use its name. */
function isNamedIssuer(issuer: Certificate, certificate: Certificate): boolean {
  if (!isSameName(issuer.subject, certificate.issuer)) return false;
  const { subjectKeyIdentifier } = issuer.extensions;
  const { authorityKeyIdentifier } = certificate.extensions;
  return subjectKeyIdentifier === undefined || authorityKeyIdentifier === undefined || subjectKeyIdentifier.equals(authorityKeyIdentifier);
}

function checkIssued(certificate: Certificate, issuer: Certificate): void {
  const algorithm = signatureAlgorithmOf(certificate.signatureAlgorithm, 'the signature of a certificate');
  if (!isSignatureOf(issuer.publicKey(), algorithm, certificate.signed, certificate.signature)) {
    refuse('chain_signature_invalid', 'A certificate was not signed by the one that bears its issuer’s name.');
  }
}

/** What does not depend on time: who may certify whom (RFC 5280 §6.1.4; refusals 40–42). */
export function checkAuthority(chain: Chain): void {
  for (const { extensions } of chain) {
    const [unknown] = extensions.unknownCritical;
    if (unknown !== undefined) refuse('certificate_extension', `A certificate has the critical extension ${unknown}.`);
  }
  let intermediatesBelow = 0;
  for (const issuer of chain.slice(1)) {
    const { basicConstraints, keyUsage, extendedKeyUsage } = issuer.extensions;
    // A root of version 1 has no extensions to say that it is a CA: that it is configured says so.
    const isOldAnchor = issuer === chain.at(-1) && issuer.version === 1;
    if (!basicConstraints?.ca && !isOldAnchor) refuse('issuer_not_ca', 'A certificate was issued by one that is not a CA’s.');
    if (keyUsage?.has(KEY_USAGE_BIT.keyCertSign) === false)
      refuse('issuer_not_ca', 'A certificate was issued with a key that must not certify.');
    const limit = basicConstraints?.pathLength;
    if (limit !== undefined && intermediatesBelow > limit)
      refuse('chain_too_long', `A CA allows ${limit} CAs below itself, not ${intermediatesBelow}.`);
    const purposes = extendedKeyUsage?.purposes;
    if (purposes !== undefined && !purposes.includes(OID.timeStamping) && !purposes.includes(OID.anyExtendedKeyUsage)) {
      refuse('intermediate_eku', 'The extended key usage of a CA leaves out time-stamping.');
    }
    if (!isSameName(issuer.subject, issuer.issuer)) intermediatesBelow += 1;
  }
}

/**
 * What depends on time: validity and revocation at genTime, and at no other time (V5; refusals 43, 44). A CA that has changed its key
 * signs its lists with the new one, whose certificate may be among `configured` (RFC 5280 §6.3.3 (f)).
 */
export function checkAt(
  chain: Chain,
  genTimeMicroseconds: bigint,
  crls: readonly RevocationList[],
  configured: readonly Certificate[] = [],
): void {
  for (const { notBeforeMs, notAfterMs } of chain) {
    if (genTimeMicroseconds < BigInt(notBeforeMs) * 1000n || genTimeMicroseconds > BigInt(notAfterMs) * 1000n) {
      const [from, to] = [notBeforeMs, notAfterMs].map((timeMs) => new Date(timeMs).toISOString());
      refuse('certificate_not_valid_at_gen_time', `A certificate was valid from ${from} to ${to}.`);
    }
  }
  if (crls.length === 0) return;
  const genTimeMs = Number(genTimeMicroseconds / 1000n);
  for (const [i, certificate] of chain.slice(0, -1).entries()) {
    const issuer = chain[i + 1]!;
    const serial = certificate.serialNumber.toString('hex');
    for (const crl of crls) {
      const revocation = isSameName(crl.issuer, issuer.subject) ? crl.revoked.get(serial) : undefined;
      if (
        revocation !== undefined &&
        isRevokedAt(revocation, genTimeMs) &&
        [issuer, ...configured].some((signer) => isCrlOf(crl, signer))
      ) {
        refuse('certificate_revoked', `A certificate was revoked at ${new Date(revocation.revokedAtMs).toISOString()}.`);
      }
    }
  }
}

/**
 * No signature covers the certificates beside a token, so each must be vouched for by itself: it is of the chain or configured, or was
 * signed by one that came along or is configured. A cross-certificate of a configured key may have been signed by a stranger.
 *
 * @throws Refusal `certificate_stray`
 */
export function checkCompany(embedded: readonly Certificate[], chain: Chain, configured: readonly Certificate[]): void {
  const known = new Set([...chain, ...configured].map(({ fingerprint }) => fingerprint));
  let checksLeft = MAX_SIGNATURE_CHECKS;
  const vouchesFor = (issuer: Certificate, certificate: Certificate) =>
    isNamedIssuer(issuer, certificate) && --checksLeft >= 0 && isIssuedBy(certificate, issuer);
  for (const certificate of embedded) {
    if (known.has(certificate.fingerprint)) continue;
    const isVouchedFor =
      [...configured, ...embedded].some((issuer) => vouchesFor(issuer, certificate)) ||
      configured.some((other) => isCrossCertificate(certificate, other));
    if (!isVouchedFor) refuse('certificate_stray', 'A certificate came along that nobody vouches for.');
  }
}

function isIssuedBy(certificate: Certificate, issuer: Certificate): boolean {
  try {
    checkIssued(certificate, issuer);
    return true;
  } catch (error) {
    if (error instanceof Refusal) return false;
    throw error;
  }
}

/** The same holder and key as a certificate that is configured, certified by somebody else under another serial number. */
const isCrossCertificate = (certificate: Certificate, configured: Certificate): boolean =>
  !isSameName(certificate.issuer, configured.issuer) &&
  !certificate.serialNumber.equals(configured.serialNumber) &&
  isSameName(certificate.subject, configured.subject) &&
  certificate.publicKey().key.equals(configured.publicKey().key);
