import { contentsOf, type Der, type DerLimits, derOf, inside, membersOf, parseDer, TAG } from '../asn1/der.ts';
import { isTrue, millisecondsOfTime, octetsOfBitString, oidOf } from '../asn1/der-values.ts';
import { OID } from '../asn1/oids.ts';
import { Refusal, refuse } from '../refusal/refusal.ts';
import { type AlgorithmIdentifier, algorithmIdentifierOf, sameAlgorithm, signatureAlgorithmOf } from './algorithms.ts';
import type { Certificate } from './certificate.ts';
import { fullNamesOf, KEY_USAGE_BIT } from './certificate-extensions.ts';
import { isSameName } from './name.ts';
import { isSignatureOfSync } from './public-key.ts';

/** A full revocation list (CRL) of one issuer for its own certificates (RFC 5280 §5.1). */
export interface RevocationList {
  readonly der: Uint8Array;
  /** DER Name. */
  readonly issuer: Buffer;
  /** When the list was made, in milliseconds since the epoch. */
  readonly thisUpdateMs: number;
  /** When the next list is due. Undefined: not stated. */
  readonly nextUpdateMs: number | undefined;
  readonly scope: ListScope;
  /** The revoked certificates, by serial number (the DER INTEGER in hex). */
  readonly revoked: ReadonlyMap<string, Revocation>;
  readonly signed: Buffer;
  readonly signatureAlgorithm: AlgorithmIdentifier;
  readonly signature: Buffer;
}

/** The scope of a list: which certificates and reasons it covers (IssuingDistributionPoint, RFC 5280 §5.2.5). */
interface ListScope {
  readonly only: 'users' | 'cas' | undefined;
  readonly isOfSomeReasons: boolean;
  /** Distribution points as GeneralNames. The list covers certificates that name one of them. Undefined: it covers every certificate. */
  readonly points: readonly Der[] | undefined;
}

export interface Revocation {
  readonly revokedAtMs: number;
  /** When the key was probably lost, or the certificate became invalid (invalidityDate, RFC 5280 §5.3.2). Undefined: not stated. */
  readonly invalidSinceMs: number | undefined;
  /** The number of the CRLReason (RFC 5280 §5.3.1). Undefined: not stated. */
  readonly reason: number | undefined;
}

/** The limits for a revocation list. They are high, because lists come from the configuration and may be long. */
const CRL_LIMITS: DerLimits = { maxBytes: 32 * 1024 * 1024, maxElements: 8_000_000, maxDepth: 32 };

/**
 * Parses a revocation list. @throws Refusal if it is not a revocation list, or of an unsupported kind: a delta, indirect, for attribute certificates,
 * or with an unknown critical extension
 */
export function parseCrl(bytes: Uint8Array): RevocationList {
  const outer = membersOf(parseDer(bytes, CRL_LIMITS), 'CertificateList');
  const body = outer.take(TAG.sequence, 'tbsCertList');
  const signatureAlgorithm = outer.take(TAG.sequence, 'signatureAlgorithm');
  const signature = octetsOfBitString(outer.take(TAG.bitString, 'signatureValue'), 'signatureValue');
  outer.end();

  const members = membersOf(body, 'tbsCertList');
  members.optional(TAG.integer);
  const innerAlgorithm = members.take(TAG.sequence, 'signature');
  const issuer = derOf(members.take(TAG.sequence, 'issuer'));
  const thisUpdateMs = millisecondsOfTime(members.any('thisUpdate'), 'thisUpdate');
  const nextUpdate = members.optional(TAG.utcTime) ?? members.optional(TAG.generalizedTime);
  const nextUpdateMs = nextUpdate && millisecondsOfTime(nextUpdate, 'nextUpdate');
  if (nextUpdateMs !== undefined && nextUpdateMs < thisUpdateMs) refuse('der_malformed', 'The next list is due before this one.');
  const entries = members.optional(TAG.sequence)?.children ?? [];
  const extensions = members.optional(TAG.contextConstructed(0));
  members.end();

  if (!sameAlgorithm(innerAlgorithm, signatureAlgorithm)) refuse('der_malformed', 'The list names two signature algorithms.');
  let scope: ListScope = { only: undefined, isOfSomeReasons: false, points: undefined };
  if (extensions !== undefined) {
    forEachExtension(inside(extensions, 'crlExtensions').children, (type, critical, value) => {
      if (type === OID.deltaCRLIndicator) refuse('der_malformed', 'The list is only a delta.');
      if (type === OID.issuingDistributionPoint) scope = scopeOf(value());
      else if (critical) refuse('der_malformed', `The list has the critical extension ${type}.`);
    });
  }
  return {
    der: bytes,
    issuer,
    thisUpdateMs,
    nextUpdateMs,
    scope,
    revoked: revokedOf(entries),
    signed: derOf(body),
    signatureAlgorithm: algorithmIdentifierOf(signatureAlgorithm, 'signatureAlgorithm of a list'),
    signature,
  };
}

/** Reads the revoked certificates. A list that contains a certificate twice may contradict itself, so it is refused. */
function revokedOf(entries: readonly Der[]): ReadonlyMap<string, Revocation> {
  const revoked = new Map(entries.map(entryOf));
  if (revoked.size !== entries.length) refuse('der_malformed', 'The list names a certificate twice.');
  return revoked;
}

function entryOf(element: Der): [string, Revocation] {
  const members = membersOf(element, 'a revoked certificate');
  const serialNumber = members.take(TAG.integer, 'userCertificate');
  const revokedAtMs = millisecondsOfTime(members.any('revocationDate'), 'revocationDate');
  const extensions = members.optional(TAG.sequence);
  members.end();
  let reason: number | undefined;
  let invalidSinceMs: number | undefined;
  forEachExtension(extensions?.children ?? [], (type, critical, value) => {
    if (type === OID.cRLReason) reason = reasonOf(value());
    else if (type === OID.invalidityDate) invalidSinceMs = millisecondsOfTime(value(), 'invalidityDate');
    else if (critical) refuse('der_malformed', `An entry of the list has the critical extension ${type}.`);
  });
  return [derOf(serialNumber).toString('hex'), { revokedAtMs, invalidSinceMs, reason }];
}

function reasonOf(element: Der): number {
  const [reason, more] = contentsOf(element);
  if (element.tag !== TAG.enumerated || reason === undefined || more !== undefined)
    refuse('der_malformed', 'The reason of a revocation is not a reason code.');
  return reason;
}

function forEachExtension(elements: readonly Der[], see: (type: string, critical: boolean, value: () => Der) => void): void {
  const types = new Set<string>();
  for (const element of elements) {
    const members = membersOf(element, 'an extension of the list');
    const type = oidOf(members.take(TAG.oid, 'extnID'), 'extnID');
    if (types.size === types.add(type).size) refuse('der_malformed', `An extension of the list occurs twice: ${type}.`);
    const critical = members.optional(TAG.boolean);
    const octets = contentsOf(members.take(TAG.octetString, 'extnValue'));
    members.end();
    see(type, isTrue(critical), () => parseDer(octets));
  }
}

/**
 * Reads the scope of a list. A list for only some certificates or reasons is accepted, because its entries are still revoked. An indirect list (`[4]`)
 * covers certificates of other issuers, and a list for attribute certificates (`[5]`) covers no X.509 certificate. Both are refused.
 */
function scopeOf(element: Der): ListScope {
  const members = membersOf(element, 'issuingDistributionPoint');
  const point = members.optional(TAG.contextConstructed(0));
  const [users, cas] = [members.optional(TAG.context(1)), members.optional(TAG.context(2))].map(isTrue);
  const reasons = members.optional(TAG.context(3));
  if (isTrue(members.optional(TAG.context(4))) || isTrue(members.optional(TAG.context(5))))
    refuse('der_malformed', 'The list does not cover the certificates of its issuer.');
  members.end();
  if (users && cas) refuse('der_malformed', 'The list is for users only, and for CAs only.');
  return { only: users ? 'users' : cas ? 'cas' : undefined, isOfSomeReasons: reasons !== undefined, points: point && fullNamesOf(point) };
}

/** Whether a certificate signed a list. `unknown`: its algorithm or its key is not known here. */
type SignedBy = boolean | 'unknown';

const knownSigners = new WeakMap<RevocationList, WeakMap<Certificate, SignedBy>>();

/** Returns true if `issuer` signed the list and may sign lists (RFC 5280 §6.3.3 (f), (g)). */
export const isCrlOf = (list: RevocationList, issuer: Certificate): boolean => signedBy(list, issuer) === true;

/** Returns true if it is not known whether `issuer` signed the list, because an algorithm is not known here. */
export const mayBeCrlOf = (list: RevocationList, issuer: Certificate): boolean => signedBy(list, issuer) === 'unknown';

/** The result is cached, because lists are long. */
function signedBy(list: RevocationList, issuer: Certificate): SignedBy {
  const known = knownSigners.get(list) ?? new WeakMap<Certificate, SignedBy>();
  knownSigners.set(list, known);
  const found = known.get(issuer) ?? findSignedBy(list, issuer);
  known.set(issuer, found);
  return found;
}

function findSignedBy(list: RevocationList, issuer: Certificate): SignedBy {
  const { keyUsage } = issuer.extensions;
  if (!isSameName(list.issuer, issuer.subject) || keyUsage?.has(KEY_USAGE_BIT.cRLSign) === false) return false;
  try {
    const algorithm = signatureAlgorithmOf(list.signatureAlgorithm, 'the signature of the list');
    return isSignatureOfSync(issuer.publicKey(), algorithm, list.signed, list.signature);
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    return error.code === 'signature_algorithm_unknown' || error.code === 'key_unknown' ? 'unknown' : false;
  }
}

/** The name of each CRLReason, by its number (RFC 5280 §5.3.1). */
export const CRL_REASONS: Readonly<Record<number, string>> = {
  0: 'unspecified',
  1: 'keyCompromise',
  2: 'cACompromise',
  3: 'affiliationChanged',
  4: 'superseded',
  5: 'cessationOfOperation',
  6: 'certificateHold',
  8: 'removeFromCRL',
  9: 'privilegeWithdrawn',
  10: 'aACompromise',
};

/** The reasons that do not affect earlier signatures, because the key was not lost (RFC 3161 §4). */
const KEY_KEPT: ReadonlySet<number> = new Set([0, 3, 4, 5]);

/** Whether the key may be in wrong hands. Without a reason, this is assumed. */
export const isKeyLost = ({ reason }: Pick<Revocation, 'reason'>): boolean => reason === undefined || !KEY_KEPT.has(reason);

/**
 * Returns true if a revocation invalidates a signature that states the time `timeMs`. `existedByMs`: a time at which the signature existed according to
 * another proof. Undefined: there is no such proof.
 */
export function isRevokedAt({ reason, ...dates }: Revocation, timeMs: number, existedByMs = Number.POSITIVE_INFINITY): boolean {
  const sinceMs = Math.min(dates.revokedAtMs, dates.invalidSinceMs ?? dates.revokedAtMs);
  return sinceMs <= (isKeyLost({ reason }) ? Math.max(timeMs, existedByMs) : timeMs);
}
