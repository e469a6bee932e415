import { contentsOf, type Der, membersOf, parseDer, TAG } from '../asn1/der.ts';
import { integerOf, isTrue, millisecondsOfTime, namedBitsOf, oidOf, smallIntegerOf } from '../asn1/der-values.ts';
import { OID } from '../asn1/oids.ts';
import { Refusal, refuse } from '../refusal/refusal.ts';

/** The extensions of a certificate that the checks of a chain use (RFC 5280 §4.2.1). */
export interface Extensions {
  readonly basicConstraints: BasicConstraints | undefined;
  readonly keyUsage: ReadonlySet<number> | undefined;
  readonly extendedKeyUsage: ExtendedKeyUsage | undefined;
  readonly subjectKeyIdentifier: Buffer | undefined;
  /** The keyIdentifier of AuthorityKeyIdentifier. It identifies the key of the issuer. */
  readonly authorityKeyIdentifier: Buffer | undefined;
  /** The alternative names of the subject, as GeneralNames. */
  readonly subjectAltName: readonly Der[];
  readonly nameConstraints: NameConstraints | undefined;
  readonly policies: PolicyRules;
  /** When the private key may be used (RFC 3280 §4.2.1.4), in milliseconds since the epoch, inclusive. */
  readonly privateKeyUsagePeriod: { readonly notBeforeMs: number; readonly notAfterMs: number } | undefined;
  /** Returns the distribution points of revocation lists about this certificate, as GeneralNames (§4.2.1.13). Empty if they cannot be read. */
  listPoints(): readonly Der[];
  /** Dotted OIDs of critical extensions that are not known here. A certificate with such an extension is refused (§4.2). */
  readonly unknownCritical: readonly string[];
}

interface BasicConstraints {
  readonly ca: boolean;
  /** The maximum number of CAs below this one. Undefined: no limit. */
  readonly pathLength: number | undefined;
}

interface ExtendedKeyUsage {
  readonly critical: boolean;
  /** Dotted OIDs. */
  readonly purposes: readonly string[];
}

/** The numbers of bits in KeyUsage (RFC 5280 §4.2.1.3). */
export const KEY_USAGE_BIT = { digitalSignature: 0, contentCommitment: 1, keyCertSign: 5, cRLSign: 6 } as const;

interface RawExtension {
  readonly critical: boolean;
  /** Parses the value. It is called only for extensions that are read. */
  value(): Der;
}

/** The maximum number of extensions. A certificate usually has at most fifteen. */
const MAX_EXTENSIONS = 128;

export function extensionsOf(elements: readonly Der[]): Extensions {
  if (elements.length > MAX_EXTENSIONS) refuse('certificate_malformed', `A certificate has ${elements.length} extensions.`);
  const found = new Map<string, RawExtension>();
  for (const element of elements) {
    const members = membersOf(element, 'an extension');
    const type = oidOf(members.take(TAG.oid, 'extnID'), 'extnID');
    const critical = isTrue(members.optional(TAG.boolean));
    const octets = contentsOf(members.take(TAG.octetString, 'extnValue'));
    members.end();
    if (found.has(type)) refuse('certificate_malformed', `A certificate has the extension ${type} twice.`);
    found.set(type, { critical, value: () => parseDer(octets) });
  }
  const read: ReadExtension = (type, reader) => {
    const extension = found.get(type);
    if (extension === undefined) return undefined;
    found.delete(type);
    return reader(extension.value(), extension.critical);
  };
  const extensions = {
    basicConstraints: read(OID.basicConstraints, basicConstraintsOf),
    keyUsage: read(OID.keyUsage, (value) => namedBitsOf(value, 'keyUsage')),
    extendedKeyUsage: read(OID.extKeyUsage, extendedKeyUsageOf),
    subjectKeyIdentifier: read(OID.subjectKeyIdentifier, (value) => {
      if (value.tag !== TAG.octetString) refuse('certificate_malformed', 'A subject key identifier is not an OCTET STRING.');
      return contentsOf(value);
    }),
    authorityKeyIdentifier: read(OID.authorityKeyIdentifier, (value) => {
      const keyIdentifier = value.children.find((child) => child.tag === TAG.context(0));
      return keyIdentifier === undefined ? undefined : contentsOf(keyIdentifier);
    }),
    subjectAltName: read(OID.subjectAltName, (value) => value.children) ?? [],
    nameConstraints: read(OID.nameConstraints, nameConstraintsOf),
    policies: policyRulesOf(read),
    privateKeyUsagePeriod: read(OID.privateKeyUsagePeriod, usagePeriodOf),
    listPoints: listPointsOf(found.get(OID.cRLDistributionPoints)),
  };
  // cRLDistributionPoints does not limit the use of a certificate, so it may be critical.
  found.delete(OID.cRLDistributionPoints);
  return { ...extensions, unknownCritical: [...found].filter(([, { critical }]) => critical).map(([type]) => type) };
}

function basicConstraintsOf(value: Der): BasicConstraints {
  const members = membersOf(value, 'basicConstraints');
  const ca = isTrue(members.optional(TAG.boolean));
  const pathLength = members.optional(TAG.integer);
  members.end();
  const limit = pathLength === undefined ? undefined : smallIntegerOf(pathLength);
  if (limit !== undefined && !(limit >= 0)) refuse('certificate_malformed', 'pathLenConstraint is not a number of certificates.');
  return { ca, pathLength: limit };
}

/**
 * Read only when a revocation list is limited to certain distribution points, which is rare. So a malformed extension does not invalidate the
 * certificate.
 */
function listPointsOf(extension: RawExtension | undefined): () => readonly Der[] {
  return () => {
    try {
      // A distribution point with reasons or with another list issuer (`[1]`, `[2]`) is not that of a full revocation list of the issuer.
      const points = extension?.value().children.filter(({ children }) => children.length === 1) ?? [];
      return points.flatMap(({ children: [name] }) => (name?.tag === TAG.contextConstructed(0) ? fullNamesOf(name) : []));
    } catch (error) {
      if (error instanceof Refusal) return [];
      throw error;
    }
  };
}

/** Returns the GeneralNames of a DistributionPointName (RFC 5280 §4.2.1.13). Empty if the name is relative to the name of the issuer. */
export function fullNamesOf(point: Der): readonly Der[] {
  const [name] = point.children;
  return name?.tag === TAG.contextConstructed(0) ? name.children : [];
}

/** Reads a PrivateKeyUsagePeriod: `[0]` notBefore and `[1]` notAfter. Both may be absent. */
function usagePeriodOf(value: Der): Extensions['privateKeyUsagePeriod'] {
  const members = membersOf(value, 'privateKeyUsagePeriod');
  const [from, to] = [members.optional(TAG.context(0)), members.optional(TAG.context(1))];
  members.end();
  const limitOf = (element: Der | undefined, otherwise: number) =>
    element === undefined ? otherwise : millisecondsOfTime(element, 'privateKeyUsagePeriod', TAG.generalizedTime);
  return { notBeforeMs: limitOf(from, Number.NEGATIVE_INFINITY), notAfterMs: limitOf(to, Number.POSITIVE_INFINITY) };
}

function extendedKeyUsageOf(value: Der, critical: boolean): ExtendedKeyUsage {
  if (value.tag !== TAG.sequence || value.children.length === 0) refuse('certificate_malformed', 'extKeyUsage has no purposes.');
  return { critical, purposes: value.children.map((purpose) => oidOf(purpose, 'a purpose of extKeyUsage')) };
}

/** The names that a CA may certify (RFC 5280 §4.2.1.10). */
export interface NameConstraints {
  /** GeneralNames. If there are some of a kind, every name of this kind must be within one of them. */
  readonly permitted: readonly Der[];
  /** GeneralNames. No name may be within one of them. */
  readonly excluded: readonly Der[];
}

/** The tags of those kinds of GeneralName (RFC 5280 §4.2.1.6) for which constraints are supported. */
export const NAME_TAG = {
  mail: TAG.context(1),
  dns: TAG.context(2),
  directory: TAG.contextConstructed(4),
  uri: TAG.context(6),
  ip: TAG.context(7),
} as const;

function nameConstraintsOf(value: Der): NameConstraints {
  const members = membersOf(value, 'nameConstraints');
  const [permitted, excluded] = [0, 1].map((number) => (members.optional(TAG.contextConstructed(number))?.children ?? []).map(baseOf));
  members.end();
  return { permitted: permitted!, excluded: excluded! };
}

/** Reads the base of a GeneralSubtree. `minimum` must be 0, and there must be no `maximum` (RFC 5280 §4.2.1.10). */
function baseOf(subtree: Der): Der {
  const members = membersOf(subtree, 'GeneralSubtree');
  const base = members.any('base');
  const minimum = members.optional(TAG.context(0));
  members.end();
  if (minimum !== undefined && integerOf(minimum, 'minimum') !== 0n)
    refuse('certificate_malformed', 'A subtree of names starts below its base.');
  if (base.tag === NAME_TAG.ip && ![8, 32].includes(base.end - base.content)) {
    refuse('certificate_malformed', 'A range of IP addresses is not an address and a mask.');
  }
  return base;
}

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
type ReadExtension = <T>(type: string, reader: (value: Der, critical: boolean) => T) => T | undefined;

function policyRulesOf(read: ReadExtension): PolicyRules {
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
