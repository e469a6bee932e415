import { OID } from '../asn1/oids.ts';
import type { RefusalCode } from '../refusal/codes.ts';
import { refuse } from '../refusal/refusal.ts';
import type { Certificate } from './certificate.ts';
import { KEY_USAGE_BIT } from './certificate-extensions.ts';
import type { Chain } from './chain.ts';
import { checkNames } from './constrained-names.ts';
import { isSameName, isSelfIssued } from './name.ts';
import { checkPolicies } from './policies.ts';
import { type ChainTimes, isHarmful, type RevocationStatus } from './revocation.ts';

/** This module has all rules for a chain except its signatures (RFC 5280 §6.1). */

/** An anchor that is a name and a key has no validity and no extensions (RFC 5280 §6.1.1 d), whatever its certificate says. */
type IsNamedKey = (certificate: Certificate) => boolean;
type NamedKeysOf = (certificate: Certificate) => readonly Certificate[];

/** Whether a certificate says itself that its key may certify others. An old root says it by its version or its key usage alone. */
export const isOfCa = (certificate: Certificate): boolean => {
  const { basicConstraints, keyUsage } = certificate.extensions;
  if (basicConstraints === undefined) return isSelfIssued(certificate) && isOldRoot(certificate);
  return basicConstraints.ca && keyUsage?.has(KEY_USAGE_BIT.keyCertSign) !== false;
};

const judgedOf = (chain: Chain, isNamedKey: IsNamedKey): readonly Certificate[] => (isNamedKey(chain.at(-1)!) ? chain.slice(0, -1) : chain);

/**
 * Checks the rules that do not depend on time: whether each certificate may certify the certificate below it (refusals 40–42). The certificate of an
 * anchor that is a name and a key decides nothing, since anyone with this key can make one. The certificates in the trust store decide.
 *
 * @param areCaPurposesIgnored accepts a CA whose extended key usage does not include time-stamping (refusal 41)
 * @throws Refusal
 */
export function checkAuthority(
  chain: Chain,
  {
    areCaPurposesIgnored,
    isNamedKey,
    namedKeysOf,
  }: { readonly areCaPurposesIgnored: boolean; readonly isNamedKey: IsNamedKey; readonly namedKeysOf: NamedKeysOf },
): void {
  const anchor = chain.at(-1)!;
  const isOfAnchor = (one: Certificate) => isSameName(one.subject, anchor.subject) && isOfCa(one);
  if (chain.length > 1 && isNamedKey(anchor) && !namedKeysOf(anchor).some(isOfAnchor))
    refuse('issuer_not_ca', 'The issuer of a certificate is trusted as a signer of time-stamps, not as a CA.');
  const judged = judgedOf(chain, isNamedKey);
  for (const { extensions } of judged) {
    const [unknown] = extensions.unknownCritical;
    if (unknown !== undefined) refuse('certificate_extension', `A certificate has the critical extension ${unknown}.`);
  }
  let intermediatesBelow = 0;
  for (const issuer of judged.slice(1)) {
    const { basicConstraints, keyUsage, extendedKeyUsage } = issuer.extensions;
    if (basicConstraints === undefined ? issuer !== chain.at(-1) || !isOldRoot(issuer) : !basicConstraints.ca) {
      refuse('issuer_not_ca', 'The issuer of a certificate is not a CA.');
    }
    if (keyUsage?.has(KEY_USAGE_BIT.keyCertSign) === false) refuse('issuer_not_ca', 'The key of an issuer must not certify.');
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
      refuse('intermediate_eku', 'The extended key usage of a CA does not include time-stamping.');
    }
    if (!isSelfIssued(issuer)) intermediatesBelow += 1;
  }
  checkNames(judged);
  checkPolicies(chain.slice(0, -1).reverse());
}

/**
 * Returns true for an anchor that does not state that it is a CA, but counts as one: if it is of version 1 (which cannot state it), or if it is
 * self-issued and its key usage allows signing certificates.
 */
const isOldRoot = (issuer: Certificate): boolean =>
  issuer.version === 1 || (isSelfIssued(issuer) && issuer.extensions.keyUsage?.has(KEY_USAGE_BIT.keyCertSign) === true);

/**
 * Checks that every certificate of the chain was valid at genTime (V5, refusal 43). No other time counts.
 * An anchor that is a name and a key has no validity.
 *
 * @param genTime microseconds since the epoch
 * @throws Refusal
 */
export function checkValidity(chain: Chain, genTime: bigint, isNamedKey: IsNamedKey): void {
  const isWithin = (fromMs: number, toMs: number) => Number(genTime) >= fromMs * 1000 && Number(genTime) <= toMs * 1000;
  for (const { notBeforeMs, notAfterMs } of judgedOf(chain, isNamedKey)) {
    if (!isWithin(notBeforeMs, notAfterMs)) {
      const [from, to] = [notBeforeMs, notAfterMs].map((timeMs) => new Date(timeMs).toISOString());
      refuse('certificate_not_valid_at_gen_time', `A certificate was valid from ${from} to ${to}.`);
    }
  }
  const period = chain[0].extensions.privateKeyUsagePeriod;
  if (period !== undefined && !isWithin(period.notBeforeMs, period.notAfterMs)) {
    refuse('key_usage_period', 'genTime is outside the privateKeyUsagePeriod of the signer’s certificate.');
  }
}

/**
 * Checks revocation (RFC 3161 §4, refusal 44). If a key was lost, all its signatures are invalid, except those proved to be older than the loss.
 *
 * @throws Refusal
 */
export function checkRevocation(answers: readonly RevocationStatus[], times: ChainTimes): void {
  for (const answer of answers) {
    if (answer.status === 'revoked' && isHarmful(answer.revocation, times)) {
      refuse('certificate_revoked', `A certificate was revoked at ${new Date(answer.revocation.revokedAtMs).toISOString()}.`);
    }
  }
}

/**
 * Checks that every certificate of the chain is still valid at `at`, which is after genTime.
 *
 * @param at microseconds since the epoch
 * @throws Refusal with the code `otherwise`
 */
export function checkNotEnded(chain: Chain, at: bigint, otherwise: RefusalCode, isNamedKey: IsNamedKey): void {
  const ended = judgedOf(chain, isNamedKey).find(({ notAfterMs }) => at > BigInt(notAfterMs) * 1000n);
  if (ended !== undefined) refuse(otherwise, `A certificate was valid until ${new Date(ended.notAfterMs).toISOString()}.`);
}
