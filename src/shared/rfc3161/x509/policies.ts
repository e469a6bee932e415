import { OID } from '../asn1/oids.ts';
import { refuse } from '../refusal/refusal.ts';
import type { Certificate } from './certificate.ts';
import { isSelfIssued } from './name.ts';
import type { PolicyRules } from './policy-rules.ts';

/**
 * This module checks certificate policies along a path (RFC 5280 §6.1.2–§6.1.5). Any policy is accepted. So a path is refused only if a CA requires an
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
export function checkPolicies(path: readonly Certificate[]): void {
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
