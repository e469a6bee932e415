import type { Der } from '../asn1/der.ts';
import { integerOf, oidOf } from '../asn1/der-values.ts';
import { membersOf } from '../asn1/members.ts';
import { OID } from '../asn1/oids.ts';
import { TAG } from '../asn1/tags.ts';
import { refuse } from '../refusal/refusal.ts';

/** The policy rules in a certificate (RFC 5280 §4.2.1.4, §4.2.1.5, §4.2.1.11, §4.2.1.14). */
export interface PolicyRules {
  /** Dotted OIDs. Undefined: the certificate names no policy. */
  readonly policies: ReadonlySet<string> | undefined;
  /** Maps a policy of the issuer to the equivalent policies of the subject. */
  readonly mappings: ReadonlyMap<string, ReadonlySet<string>>;
  /** The number of certificates that may follow before an explicit policy is required. Undefined: it is not required. */
  readonly requireExplicitPolicy: number | undefined;
  /** The number of certificates that may follow before policy mappings are forbidden. Undefined: they are allowed. */
  readonly inhibitPolicyMapping: number | undefined;
  /** The number of certificates that may follow before anyPolicy is ignored. Undefined: it is not ignored. */
  readonly inhibitAnyPolicy: number | undefined;
}

/** Reads the extension of a type. Returns undefined if the certificate does not have it. */
export type ReadExtension = <T>(type: string, reader: (value: Der, critical: boolean) => T) => T | undefined;

export function policyRulesOf(read: ReadExtension): PolicyRules {
  const constraints = read(OID.policyConstraints, policyConstraintsOf);
  return {
    policies: read(OID.certificatePolicies, policiesOf),
    mappings: read(OID.policyMappings, mappingsOf) ?? NO_MAPPINGS,
    requireExplicitPolicy: constraints?.requireExplicitPolicy,
    inhibitPolicyMapping: constraints?.inhibitPolicyMapping,
    inhibitAnyPolicy: read(OID.inhibitAnyPolicy, (value) => {
      if (value.tag !== TAG.integer) refuse('certificate_malformed', 'inhibitAnyPolicy is not a number.');
      return certificateCountOf(value);
    }),
  };
}

const NO_MAPPINGS: PolicyRules['mappings'] = new Map();

function policiesOf(value: Der): ReadonlySet<string> {
  const list = elementsOf(value, 'certificatePolicies').map((information) => {
    const members = membersOf(information, 'PolicyInformation');
    const policy = oidOf(members.take(TAG.oid, 'policyIdentifier'), 'policyIdentifier');
    members.optional(TAG.sequence); // Skips the qualifiers, which are for people.
    members.end();
    return policy;
  });
  const policies = new Set(list);
  if (policies.size !== list.length) refuse('certificate_malformed', 'A certificate names a policy twice.');
  return policies;
}

function mappingsOf(value: Der): PolicyRules['mappings'] {
  const mappings = new Map<string, Set<string>>();
  for (const mapping of elementsOf(value, 'policyMappings')) {
    const members = membersOf(mapping, 'a policy mapping');
    const issuerPolicy = oidOf(members.take(TAG.oid, 'issuerDomainPolicy'), 'issuerDomainPolicy');
    const subjectPolicy = oidOf(members.take(TAG.oid, 'subjectDomainPolicy'), 'subjectDomainPolicy');
    members.end();
    mappings.set(issuerPolicy, (mappings.get(issuerPolicy) ?? new Set()).add(subjectPolicy));
  }
  return mappings;
}

function policyConstraintsOf(value: Der): { requireExplicitPolicy: number | undefined; inhibitPolicyMapping: number | undefined } {
  const members = membersOf(value, 'policyConstraints');
  const [explicit, mapping] = [0, 1].map((number) => members.optional(TAG.context(number)));
  members.end();
  if (explicit === undefined && mapping === undefined) refuse('certificate_malformed', 'policyConstraints are empty.');
  return {
    requireExplicitPolicy: explicit === undefined ? undefined : certificateCountOf(explicit),
    inhibitPolicyMapping: mapping === undefined ? undefined : certificateCountOf(mapping),
  };
}

/** Reads a SkipCerts. Large numbers are reduced to 1 000, which no chain reaches. */
function certificateCountOf(element: Der): number {
  const count = integerOf(element, 'a number of certificates');
  if (count < 0n) refuse('certificate_malformed', 'A number of certificates is negative.');
  return Number(count < 1000n ? count : 1000n);
}

function elementsOf(value: Der, name: string): readonly Der[] {
  if (value.tag !== TAG.sequence || value.children.length === 0) refuse('certificate_malformed', `${name} is empty or of another type.`);
  return value.children;
}
