import { contentsOf, type Der, parseDer } from '../asn1/der.ts';
import { isTrue, millisecondsOfTime, namedBitsOf, oidOf, smallIntegerOf } from '../asn1/der-values.ts';
import { membersOf } from '../asn1/members.ts';
import { OID } from '../asn1/oids.ts';
import { TAG } from '../asn1/tags.ts';
import { Refusal, refuse } from '../refusal/refusal.ts';
import { type NameConstraints, nameConstraintsOf } from './name-constraints.ts';
import { type PolicyRules, policyRulesOf, type ReadExtension } from './policy-rules.ts';

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
