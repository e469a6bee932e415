import { contentsOf, type Der, derOf } from '../asn1/der.ts';
import { inside } from '../asn1/members.ts';
import { OID } from '../asn1/oids.ts';
import { refuse } from '../refusal/refusal.ts';
import type { Certificate } from './certificate.ts';
import { attributesOfName, isNameWithin, isSelfIssued } from './name.ts';
import { NAME_TAG, type NameConstraints } from './name-constraints.ts';

/**
 * Checks the names in every certificate against the name constraints of all CAs above it (RFC 5280 §6.1.3 (b) and (c)).
 *
 * @param chain from the signer to the anchor. The constraints of the anchor apply too.
 * @throws Refusal `certificate_name`
 */
export function checkNames(chain: readonly Certificate[]): void {
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
