import { OID } from '../asn1/oids.ts';
import type { RefusalCode } from '../refusal/codes.ts';
import { refuse } from '../refusal/refusal.ts';
import type { Certificate } from './certificate.ts';
import { KEY_USAGE_BIT } from './certificate-extensions.ts';
import type { Chain } from './chain.ts';
import { checkNames } from './constrained-names.ts';
import { isCrlOf, isRevokedAt, type RevocationList } from './crl.ts';
import { isSameName, isSelfIssued } from './name.ts';
import { checkPolicies } from './policies.ts';

/** What a chain must keep to besides its signatures (RFC 5280 §6.1). */

/**
 * What does not depend on time: who may certify whom and what (refusals 40–42).
 *
 * @param areCaPurposesIgnored take a CA whose extended key usage leaves out time-stamping (41)
 * @throws Refusal
 */
export function checkAuthority(chain: Chain, areCaPurposesIgnored: boolean): void {
  for (const { extensions } of chain) {
    const [unknown] = extensions.unknownCritical;
    if (unknown !== undefined) refuse('certificate_extension', `A certificate has the critical extension ${unknown}.`);
  }
  let intermediatesBelow = 0;
  for (const issuer of chain.slice(1)) {
    const { basicConstraints, keyUsage, extendedKeyUsage } = issuer.extensions;
    if (basicConstraints === undefined ? !isOldRoot(issuer, chain) : !basicConstraints.ca) {
      refuse('issuer_not_ca', 'A certificate was issued by one that is not a CA’s.');
    }
    if (keyUsage?.has(KEY_USAGE_BIT.keyCertSign) === false)
      refuse('issuer_not_ca', 'A certificate was issued with a key that must not certify.');
    const limit = basicConstraints?.pathLength;
    if (limit !== undefined && intermediatesBelow > limit)
      refuse('chain_too_long', `A CA allows ${limit} CAs below itself, not ${intermediatesBelow}.`);
    const purposes = extendedKeyUsage?.purposes;
    if (
      !areCaPurposesIgnored &&
      purposes !== undefined &&
      !purposes.includes(OID.timeStamping) &&
      !purposes.includes(OID.anyExtendedKeyUsage)
    ) {
      refuse('intermediate_eku', 'The extended key usage of a CA leaves out time-stamping.');
    }
    if (!isSelfIssued(issuer)) intermediatesBelow += 1;
  }
  checkNames(chain);
  checkPolicies(chain.slice(0, -1).reverse());
}

/** An old root may not say that it is a CA, and of version 1 it cannot: being configured says so where its key is not for something else. */
function isOldRoot(issuer: Certificate, chain: Chain): boolean {
  if (issuer !== chain.at(-1)) return false;
  return issuer.version === 1 || (isSelfIssued(issuer) && issuer.extensions.keyUsage?.has(KEY_USAGE_BIT.keyCertSign) === true);
}

/** The times at which a chain is judged, microseconds since the epoch. */
export interface ChainTimes {
  readonly genTime: bigint;
  /** When something else has proved that the token was there; undefined: nothing has. */
  readonly existedBy?: bigint | undefined;
}

/**
 * What depends on time: validity and revocation at genTime, and at no other time (V5; refusals 43, 44). A key that is lost makes
 * worthless what it signed at any time, but for what is known to be older than the loss. A CA that has changed its key signs its lists
 * with the new one, whose certificate may be among `configured` (RFC 5280 §6.3.3 (f)).
 *
 * @throws Refusal
 */
export function checkAt(
  chain: Chain,
  { genTime, existedBy }: ChainTimes,
  crls: readonly RevocationList[],
  configured: readonly Certificate[] = [],
): void {
  for (const { notBeforeMs, notAfterMs } of chain) {
    if (genTime < BigInt(notBeforeMs) * 1000n || genTime > BigInt(notAfterMs) * 1000n) {
      const [from, to] = [notBeforeMs, notAfterMs].map((timeMs) => new Date(timeMs).toISOString());
      refuse('certificate_not_valid_at_gen_time', `A certificate was valid from ${from} to ${to}.`);
    }
  }
  if (crls.length === 0) return;
  const genTimeMs = Number(genTime / 1000n);
  const existedByMs = existedBy === undefined ? undefined : Number(existedBy / 1000n);
  for (const [i, certificate] of chain.slice(0, -1).entries()) {
    const issuer = chain[i + 1]!;
    const serial = certificate.serialNumber.toString('hex');
    for (const crl of crls) {
      const revocation = isSameName(crl.issuer, issuer.subject) ? crl.revoked.get(serial) : undefined;
      if (
        revocation !== undefined &&
        isRevokedAt(revocation, genTimeMs, existedByMs) &&
        [issuer, ...configured].some((signer) => isCrlOf(crl, signer))
      ) {
        refuse('certificate_revoked', `A certificate was revoked at ${new Date(revocation.revokedAtMs).toISOString()}.`);
      }
    }
  }
}

/**
 * Whether every certificate of the chain is still valid at a time after genTime.
 *
 * @param at microseconds since the epoch
 * @throws Refusal `otherwise`
 */
export function checkNotEnded(chain: Chain, at: bigint, otherwise: RefusalCode): void {
  const ended = chain.find(({ notAfterMs }) => at > BigInt(notAfterMs) * 1000n);
  if (ended !== undefined) refuse(otherwise, `A certificate was valid until ${new Date(ended.notAfterMs).toISOString()}.`);
}

/** Whether a list of its issuer was there for every certificate below the anchor. */
export function isRevocationChecked(chain: Chain, crls: readonly RevocationList[], configured: readonly Certificate[]): boolean {
  return chain.slice(0, -1).every((_, i) => {
    const issuer = chain[i + 1]!;
    return crls.some((crl) => isSameName(crl.issuer, issuer.subject) && [issuer, ...configured].some((signer) => isCrlOf(crl, signer)));
  });
}
