import { OID } from '../asn1/oids.ts';
import { refuse } from '../refusal/refusal.ts';
import type { Certificate } from './certificate.ts';
import { isSelfIssued } from './name.ts';
import type { PolicyRules } from './policy-rules.ts';

/**
 * Certificate policies along a path (RFC 5280 §6.1.2–§6.1.5), with any policy accepted. So only a CA that requires an explicit policy can end a
 * path: one of its policies must lead down to the signer, which is so if the policy tree's level is not empty. Only the last level is kept, each
 * policy once (RFC 9618).
 */

/** The policies that are valid so far, each with those that the next certificate may use for it. */
type Level = ReadonlyMap<string, ReadonlySet<string>>;

/**
 * Follows the path from the certificate below the anchor down to the signer.
 *
 * @throws Refusal `certificate_policy`
 */
export function checkPolicies(path: readonly Certificate[]): void {
  let level: Level = new Map([[OID.anyPolicy, new Set([OID.anyPolicy])]]);
  // Each counts down at certificates that are not self-issued; its rule applies at 0.
  let [explicitIn, noMappingIn, noAnyIn] = [path.length + 1, path.length + 1, path.length + 1];

  for (const certificate of path) {
    const isLast = certificate === path.at(-1);
    const selfIssued = isSelfIssued(certificate);
    const rules = certificate.extensions.policies;

    level = nextLevel(level, rules.policies, noAnyIn > 0 || (!isLast && selfIssued));
    if (explicitIn === 0 && level.size === 0) break;

    if (!isLast) level = mapped(level, rules.mappings, noMappingIn > 0);
    if (isLast || !selfIssued) [explicitIn, noMappingIn, noAnyIn] = [lower(explicitIn), lower(noMappingIn), lower(noAnyIn)];
    // §6.1.5 (b): for the signer itself only a plain 0 counts, since nothing follows it.
    const explicitFrom = isLast && rules.requireExplicitPolicy !== 0 ? undefined : rules.requireExplicitPolicy;
    explicitIn = Math.min(explicitIn, explicitFrom ?? explicitIn);
    noMappingIn = Math.min(noMappingIn, rules.inhibitPolicyMapping ?? noMappingIn);
    noAnyIn = Math.min(noAnyIn, rules.inhibitAnyPolicy ?? noAnyIn);
  }
  if (explicitIn === 0 && level.size === 0) refuse('certificate_policy', 'A CA requires a policy that does not lead to the signer.');
}

const lower = (count: number): number => Math.max(0, count - 1);

/** RFC 5280 §6.1.3 (d) and (e). */
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

/** RFC 5280 §6.1.4 (a) and (b). */
function mapped(level: Level, mappings: PolicyRules['mappings'], isMappingGood: boolean): Level {
  const next = new Map(level);
  for (const [issuerPolicy, subjectPolicies] of mappings) {
    if (issuerPolicy === OID.anyPolicy || subjectPolicies.has(OID.anyPolicy)) refuse('certificate_policy', 'A CA maps anyPolicy.');
    if (!isMappingGood) next.delete(issuerPolicy);
    else if (next.has(issuerPolicy) || next.has(OID.anyPolicy)) next.set(issuerPolicy, subjectPolicies);
  }
  return next;
}
