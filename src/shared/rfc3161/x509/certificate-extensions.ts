import { contentsOf, type Der, parseDer } from '../asn1/der.ts';
import { isTrue, namedBitsOf, oidOf, smallIntegerOf } from '../asn1/der-values.ts';
import { membersOf } from '../asn1/members.ts';
import { OID } from '../asn1/oids.ts';
import { TAG } from '../asn1/tags.ts';
import { refuse } from '../refusal/refusal.ts';
import { type NameConstraints, nameConstraintsOf } from './name-constraints.ts';
import { type PolicyRules, policyRulesOf, type ReadExtension } from './policy-rules.ts';

/** The extensions of a certificate that chains are judged by (RFC 5280 §4.2.1). */
export interface Extensions {
  readonly basicConstraints: BasicConstraints | undefined;
  readonly keyUsage: ReadonlySet<number> | undefined;
  readonly extendedKeyUsage: ExtendedKeyUsage | undefined;
  readonly subjectKeyIdentifier: Buffer | undefined;
  /** keyIdentifier of AuthorityKeyIdentifier: which of the keys of an issuer it was. */
  readonly authorityKeyIdentifier: Buffer | undefined;
  /** GeneralNames. */
  readonly subjectAltName: readonly Der[];
  readonly nameConstraints: NameConstraints | undefined;
  readonly policies: PolicyRules;
  /** Dotted OIDs of critical extensions that are not processed here: a certificate with one cannot be relied on (§4.2). */
  readonly unknownCritical: readonly string[];
}

export interface BasicConstraints {
  readonly ca: boolean;
  /** Undefined: no limit. */
  readonly pathLength: number | undefined;
}

export interface ExtendedKeyUsage {
  readonly critical: boolean;
  /** Dotted OIDs. */
  readonly purposes: readonly string[];
}

/** Bits of KeyUsage (RFC 5280 §4.2.1.3). */
export const KEY_USAGE_BIT = { digitalSignature: 0, contentCommitment: 1, keyCertSign: 5, cRLSign: 6 } as const;

interface RawExtension {
  readonly critical: boolean;
  /** The value, for those that are read. */
  value(): Der;
}

/** Certificates have some fifteen. */
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
  };
  // Where lists can be fetched constrains nothing: no list is fetched, and those that are configured are full ones.
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

function extendedKeyUsageOf(value: Der, critical: boolean): ExtendedKeyUsage {
  if (value.tag !== TAG.sequence || value.children.length === 0) refuse('certificate_malformed', 'extKeyUsage has no purposes.');
  return { critical, purposes: value.children.map((purpose) => oidOf(purpose, 'a purpose of extKeyUsage')) };
}
