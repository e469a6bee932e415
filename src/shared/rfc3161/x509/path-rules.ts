import { contentsOf, type Der, derOf, inside } from '../asn1/der.ts';
import { OID } from '../asn1/oids.ts';
import type { RefusalCode } from '../refusal/codes.ts';
import { refuse } from '../refusal/refusal.ts';
import type { Certificate } from './certificate.ts';
import { KEY_USAGE_BIT, NAME_TAG, type NameConstraints, type PolicyRules } from './certificate-extensions.ts';
import type { Chain } from './chain.ts';
import { attributesOfName, isNameWithin, isSameName, isSelfIssued } from './name.ts';
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
 * Checks that every certificate of the chain is still valid at `at`, which is after genTime. An anchor that is a name and a key ends with the last of
 * its certificates in the trust store: whoever has the key can make others.
 *
 * @param at microseconds since the epoch
 * @throws Refusal with the code `otherwise`
 */
export function checkNotEnded(chain: Chain, at: bigint, otherwise: RefusalCode, namedKeysOf: NamedKeysOf): void {
  for (const certificate of chain) {
    const named = namedKeysOf(certificate).filter(({ subject }) => isSameName(subject, certificate.subject));
    const endMs = named.length > 0 ? Math.max(...named.map(({ notAfterMs }) => notAfterMs)) : certificate.notAfterMs;
    if (at > BigInt(endMs) * 1000n) refuse(otherwise, `A certificate was valid until ${new Date(endMs).toISOString()}.`);
  }
}

/**
 * Checks the names in every certificate against the name constraints of all CAs above it (RFC 5280 §6.1.3 (b) and (c)).
 *
 * @param chain from the signer to the anchor. The constraints of the anchor apply too.
 * @throws Refusal `certificate_name`
 */
function checkNames(chain: readonly Certificate[]): void {
  for (const [i, issuer] of chain.entries()) {
    const { nameConstraints } = issuer.extensions;
    if (nameConstraints === undefined) continue;
    for (const [below, certificate] of chain.slice(0, i).entries()) {
      if (below === 0 || !isSelfIssued(certificate)) checkNamesOf(certificate, nameConstraints);
    }
  }
}

function checkNamesOf(certificate: Certificate, { permitted, excluded }: NameConstraints): void {
  for (const { tag, octets } of namesOf(certificate)) {
    const isWithin = (base: Der) => base.tag === tag && isWithinSubtree(tag, octets, contentsOfName(base));
    if (excluded.some(isWithin)) refuse('certificate_name', 'A CA certified a name that it must not certify.');
    if (permitted.some((base) => base.tag === tag) && !permitted.some(isWithin)) {
      refuse('certificate_name', 'A CA certified a name outside the names that it may certify.');
    }
  }
}

interface Name {
  readonly tag: number;
  /** For a directory name, the DER Name. For any other name, its contents. */
  readonly octets: Buffer;
}

/** Returns all names in a certificate: the subject, the e-mail addresses in the subject, and the alternative names. */
function namesOf({ subject, extensions }: Certificate): readonly Name[] {
  const mails = attributesOfName(subject, OID.emailAddress).map((value) => ({ tag: NAME_TAG.mail, octets: contentsOf(value) }));
  const others = extensions.subjectAltName.map((name) => ({ tag: name.tag, octets: contentsOfName(name) }));
  const hasSubject = subject.length > 2; // An empty SEQUENCE is not a name.
  return [...(hasSubject ? [{ tag: NAME_TAG.directory, octets: subject }] : []), ...mails, ...others];
}

const contentsOfName = (name: Der): Buffer => (name.tag === NAME_TAG.directory ? derOf(inside(name, 'directoryName')) : contentsOf(name));

function isWithinSubtree(tag: number, name: Buffer, base: Buffer): boolean {
  switch (tag) {
    case NAME_TAG.directory:
      return isNameWithin(name, base);
    case NAME_TAG.dns:
      return isHostWithin(textOf(name), textOf(base), true);
    case NAME_TAG.mail:
      return isMailWithin(name.toString('latin1'), base.toString('latin1'));
    case NAME_TAG.uri:
      return isHostWithin(hostOfUri(textOf(name)), textOf(base), false);
    case NAME_TAG.ip:
      return isAddressWithin(name, base);
    default:
      return refuse('certificate_name', 'A CA constrains names of a kind that is not known.');
  }
}

const textOf = (octets: Buffer): string => octets.toString('latin1').toLowerCase();

/**
 * Returns true if a host is within the base of a constraint. A base with a leading dot includes every host below it, but not itself. Without the dot,
 * it includes the host itself and, with `isBelowToo` (DNS names), also every host below it.
 */
function isHostWithin(host: string, base: string, isBelowToo: boolean): boolean {
  if (base === '') return true;
  if (base.startsWith('.')) return host.length > base.length && host.endsWith(base);
  return host === base || (isBelowToo && host.endsWith(`.${base}`));
}

/**
 * Returns true if an e-mail address is within the base of a constraint. The base is an address, a host, or with a leading dot every host below it. Only
 * hosts are compared case-insensitively.
 */
function isMailWithin(address: string, base: string): boolean {
  const at = address.lastIndexOf('@');
  const host = address.slice(at + 1).toLowerCase();
  const baseAt = base.lastIndexOf('@');
  const baseHost = base.slice(baseAt + 1).toLowerCase();
  if (baseAt > 0) return host === baseHost && address.slice(0, at) === base.slice(0, baseAt);
  return isHostWithin(host, baseHost, false);
}

/** Returns the host of a URI. If a CA constrains the hosts of URIs, it must not certify a URI without a host (RFC 5280 §4.2.1.10). */
function hostOfUri(uri: string): string {
  const host = /^[a-z][a-z0-9+.-]*:\/\/(?:[^/?#@]*@)?([^/?#:[\]]+)(?::\d*)?(?:[/?#]|$)/.exec(uri)?.[1];
  if (host === undefined || /^[0-9.]+$/.test(host)) return refuse('certificate_name', 'A URI has no host, but hosts are constrained.');
  return host;
}

/** Returns true if an IP address is within a base: an address and a mask of the same length. */
function isAddressWithin(address: Buffer, base: Buffer): boolean {
  const octets = base.length / 2;
  return address.length === octets && address.every((octet, i) => ((octet ^ base[i]!) & base[octets + i]!) === 0);
}

/**
 * The certificate policies along a path (RFC 5280 §6.1.2–§6.1.5): any policy is accepted. So a path is refused only if a CA requires an
 * explicit policy and none of its policies leads down to the signer: then the last level of the policy tree is empty. Only the last level is kept,
 * each policy once (RFC 9618).
 */

/** The policies that are valid down to this level. Each is mapped to the policies that the next certificate may use for it. */
type Level = ReadonlyMap<string, ReadonlySet<string>>;

/**
 * Checks the policies along a path. @param path from the certificate below the anchor down to the signer
 *
 * @throws Refusal `certificate_policy`
 */
function checkPolicies(path: readonly Certificate[]): void {
  let level: Level = new Map([[OID.anyPolicy, new Set([OID.anyPolicy])]]);
  // Each number counts down at certificates that are not self-issued. At 0 its rule applies.
  let [explicitIn, noMappingIn, noAnyIn] = [path.length + 1, path.length + 1, path.length + 1];

  for (const certificate of path) {
    const isLast = certificate === path.at(-1);
    const selfIssued = isSelfIssued(certificate);
    const rules = certificate.extensions.policies;

    level = nextLevel(level, rules.policies, noAnyIn > 0 || (!isLast && selfIssued));
    if (explicitIn === 0 && level.size === 0) break;

    if (!isLast) level = mapped(level, rules.mappings, noMappingIn > 0);
    if (isLast || !selfIssued) [explicitIn, noMappingIn, noAnyIn] = [lower(explicitIn), lower(noMappingIn), lower(noAnyIn)];
    // In the signer's certificate, requireExplicitPolicy counts only if it is 0, because no certificate follows (§6.1.5 (b)).
    const explicitFrom = isLast && rules.requireExplicitPolicy !== 0 ? undefined : rules.requireExplicitPolicy;
    explicitIn = Math.min(explicitIn, explicitFrom ?? explicitIn);
    noMappingIn = Math.min(noMappingIn, rules.inhibitPolicyMapping ?? noMappingIn);
    noAnyIn = Math.min(noAnyIn, rules.inhibitAnyPolicy ?? noAnyIn);
  }
  if (explicitIn === 0 && level.size === 0) refuse('certificate_policy', 'A CA requires a policy that does not lead to the signer.');
}

const lower = (count: number): number => Math.max(0, count - 1);

/** Returns the level of the policy tree for the next certificate (RFC 5280 §6.1.3 (d) and (e)). */
function nextLevel(level: Level, policies: PolicyRules['policies'], isAnyPolicyGood: boolean): Level {
  const next = new Map<string, ReadonlySet<string>>();
  if (policies === undefined) return next;
  const expected = new Set([...level.values()].flatMap((set) => [...set]));
  for (const policy of policies) {
    if (policy !== OID.anyPolicy && (expected.has(policy) || level.has(OID.anyPolicy))) next.set(policy, new Set([policy]));
  }
  if (policies.has(OID.anyPolicy) && isAnyPolicyGood) {
    for (const policy of expected) if (!next.has(policy)) next.set(policy, new Set([policy]));
  }
  return next;
}

/** Applies the policy mappings of a certificate to a level (RFC 5280 §6.1.4 (a) and (b)). */
function mapped(level: Level, mappings: PolicyRules['mappings'], isMappingGood: boolean): Level {
  const next = new Map(level);
  for (const [issuerPolicy, subjectPolicies] of mappings) {
    if (issuerPolicy === OID.anyPolicy || subjectPolicies.has(OID.anyPolicy)) refuse('certificate_policy', 'A CA maps anyPolicy.');
    if (!isMappingGood) next.delete(issuerPolicy);
    else if (next.has(issuerPolicy) || next.has(OID.anyPolicy)) next.set(issuerPolicy, subjectPolicies);
  }
  return next;
}
