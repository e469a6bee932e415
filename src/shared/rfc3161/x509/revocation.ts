import { sameDer } from '../asn1/der.ts';
import { Refusal } from '../refusal/refusal.ts';
import type { Certificate } from './certificate.ts';
import { type Chain, isIssuedBy } from './chain.ts';
import { isCrlOf, isKeyLost, isRevokedAt, mayBeCrlOf, type Revocation, type RevocationList } from './crl.ts';
import { isSameName } from './name.ts';

/** This module finds the status of each certificate of a chain in the available revocation lists (RFC 5280 §6.3, V10). */

/** Why no list gives the status of a certificate. The checks run in this order, and the first check that leaves no list gives the reason. */
export const REVOCATION_UNKNOWN = {
  no_list: 'no revocation list of its issuer is available',
  issuer_unknown: 'the certificate of its issuer, needed to check a list, is not available',
  unknown_algorithm: 'the list of its issuer is signed with an algorithm that is not known here',
  other_signer: 'the list with the name of its issuer has no valid signature of the issuer',
  not_covered: 'the list of its issuer covers other certificates',
  future: 'the list of its issuer is dated in the future',
  outdated: 'the list of its issuer was outdated at genTime',
  before_start: 'the list of its issuer is older than the certificate',
  after_end: 'the list of its issuer was made after the certificate expired',
} as const;
export type RevocationUnknown = keyof typeof REVOCATION_UNKNOWN;

/** The status of one certificate. */
export type RevocationStatus = { readonly certificate: Certificate } & (
  | { readonly status: 'good'; readonly list: RevocationList }
  | { readonly status: 'revoked'; readonly list: RevocationList; readonly revocation: Revocation }
  | { readonly status: 'unknown'; readonly why: RevocationUnknown }
);

/** The times for judging a chain, in microseconds since the epoch. */
export interface ChainTimes {
  readonly genTime: bigint;
  /** The time at which the token existed according to another proof. Undefined: there is no such proof. */
  readonly existedBy?: bigint | undefined;
}

/** The inputs for judging revocation. */
interface RevocationContext {
  readonly times: ChainTimes;
  /** The current time in milliseconds since the epoch. A list with a later date does not count yet. */
  readonly nowMs: number;
  readonly lists: readonly RevocationList[];
  /** The certificates in the trust store. */
  readonly configured: readonly Certificate[];
  /** The certificates in the token. */
  readonly embedded: readonly Certificate[];
  /** The certificates of anchors that are a name and a key, with the key of a certificate. */
  namedKeysOf(certificate: Certificate): readonly Certificate[];
}

/**
 * Returns the status of each certificate below the anchor, or of the signer if it is the anchor itself. The status `revoked` includes revocations that
 * do not affect a signature at genTime, because the key was not lost: `isHarmful` tells which revocations do. An anchor above the signer has a status
 * only if its key is named and revoked.
 */
export function revocationOf(chain: Chain, context: RevocationContext): readonly RevocationStatus[] {
  return chain.flatMap((certificate, i) => {
    const above = chain.slice(i + 1);
    const isJudged = i === 0 || above.length > 0;
    const named = statusByNamedKeys(certificate, above, context);
    if (named?.status === 'revoked') return named;
    if (!isJudged) return [];
    return named ?? statusOf(certificate, above, context);
  });
}

/**
 * Finds the status of a certificate whose key is named. Anyone who has the key can make more certificates for it, with other serial numbers or issuers,
 * so the certificates in the trust store are judged too. If the certificate itself is in the trust store, another one with its key counts only if the
 * key was lost. If it is not, every one with its name counts too.
 *
 * @returns undefined if the key is not named, or if nothing but the certificate itself counts
 */
function statusByNamedKeys(
  certificate: Certificate,
  above: readonly Certificate[],
  context: RevocationContext,
): RevocationStatus | undefined {
  const named = context.namedKeysOf(certificate);
  if (named.length === 0) return undefined;
  const isItself = ({ fingerprint }: Certificate) => fingerprint === certificate.fingerprint;
  const isNamesake = ({ subject }: Certificate) => isSameName(subject, certificate.subject);
  const isKnown = named.some(isItself);
  const others = named.filter((one) => !isItself(one)).map((one) => statusOfNamed(one, [], context));
  const statuses = [(isKnown ? statusOfNamed : statusOf)(certificate, above, context), ...others];
  const revoked = statuses.flatMap((status) => {
    if (status.status !== 'revoked') return [];
    const counts = isItself(status.certificate) || isKeyLost(status.revocation) || (!isKnown && isNamesake(status.certificate));
    return counts ? status : [];
  });
  const worst = revoked.find(({ revocation }) => isHarmful(revocation, context.times)) ?? revoked[0];
  if (worst !== undefined) return worst;
  return isKnown ? undefined : others.find((status) => isNamesake(status.certificate));
}

/**
 * Like `statusOf`, for a certificate in the trust store whose name and key are the anchor. Whoever has a lost key decides which certificates his tokens
 * bring along. So a list that names the certificate counts, even if nobody can check it because the certificate of its issuer is not at hand.
 */
function statusOfNamed(certificate: Certificate, above: readonly Certificate[], context: RevocationContext): RevocationStatus {
  const status = statusOf(certificate, above, context);
  if (status.status !== 'unknown' || status.why !== 'issuer_unknown') return status;
  return (
    revokedIn(
      context.lists.filter(({ issuer }) => isSameName(issuer, certificate.issuer)),
      certificate,
      context,
    ) ?? status
  );
}

/** The worst revocation of a certificate in some lists; undefined if none of them names it. */
function revokedIn(lists: readonly RevocationList[], certificate: Certificate, { times }: RevocationContext): RevocationStatus | undefined {
  const serial = certificate.serialNumber.toString('hex');
  const revoking = lists.flatMap((list) => {
    const revocation = list.revoked.get(serial);
    return revocation === undefined ? [] : [{ list, revocation }];
  });
  const worst = revoking.find(({ revocation }) => isHarmful(revocation, times)) ?? revoking[0];
  return worst && { certificate, status: 'revoked', ...worst };
}

/** Returns true if a revocation invalidates a signature that was made at genTime. */
export function isHarmful(revocation: Revocation, { genTime, existedBy }: ChainTimes): boolean {
  return isRevokedAt(revocation, Number(genTime / 1000n), existedBy === undefined ? undefined : Number(existedBy / 1000n));
}

/** Finds the status of one certificate. @param above the rest of the chain, from the issuer on; empty for an anchor */
function statusOf(certificate: Certificate, above: readonly Certificate[], context: RevocationContext): RevocationStatus {
  const { times, nowMs, lists } = context;
  const named = lists.filter(({ issuer }) => isSameName(issuer, certificate.issuer));
  const unknown = (why: RevocationUnknown): RevocationStatus => ({ certificate, status: 'unknown', why });
  if (named.length === 0) return unknown('no_list');
  const known = above.length > 0 ? above : aboveAnchor(certificate, context);
  const issuers = issuersOf(certificate, known, context);
  if (issuers.length === 0) return unknown('issuer_unknown');
  const signed = named.filter((list) => issuers.some((issuer) => isCrlOf(list, issuer) && mayHaveSigned(issuer, list, known, context)));
  if (signed.length === 0) {
    const isUnjudged = named.some((list) => issuers.some((issuer) => mayBeCrlOf(list, issuer)));
    return unknown(isUnjudged ? 'unknown_algorithm' : 'other_signer');
  }

  // If a list names the certificate, the certificate is revoked, whatever the scope of the list is.
  const revoked = revokedIn(signed, certificate, context);
  if (revoked) return revoked;

  const genTimeMs = Number(times.genTime / 1000n);
  const { notBeforeMs, notAfterMs } = certificate;
  const steps: readonly (readonly [RevocationUnknown, (list: RevocationList) => boolean])[] = [
    ['not_covered', (list) => covers(list, certificate)],
    ['future', ({ thisUpdateMs }) => thisUpdateMs <= nowMs],
    ['outdated', ({ thisUpdateMs, nextUpdateMs = thisUpdateMs }) => thisUpdateMs > genTimeMs || nextUpdateMs >= genTimeMs],
    ['before_start', ({ thisUpdateMs }) => thisUpdateMs >= notBeforeMs],
    // A CA may remove expired certificates from its list.
    ['after_end', ({ thisUpdateMs }) => thisUpdateMs <= notAfterMs],
  ];
  let left = signed;
  for (const [why, passes] of steps) {
    left = left.filter(passes);
    if (left.length === 0) return unknown(why);
  }
  const newest = left.reduce((a, b) => (b.thisUpdateMs > a.thisUpdateMs ? b : a));
  return { certificate, status: 'good', list: newest };
}

/** The maximum number of certificates with one name that are used from a token, because anyone can add more certificates to a token. */
const MAX_NAMESAKES = 8;

/**
 * Returns the certificates above an anchor: those that issued it, and the configured ones that issued these. There is no chain above an anchor, so
 * they are found among all certificates at hand.
 */
function aboveAnchor(anchor: Certificate, { configured, embedded }: RevocationContext): readonly Certificate[] {
  const isIssuerOf = (one: Certificate, below: Certificate) => isSameName(one.subject, below.issuer) && isIssued(below, one);
  const namesakes = embedded.filter(({ subject }) => isSameName(subject, anchor.issuer)).slice(0, MAX_NAMESAKES);
  const issuers = [...configured, ...namesakes].filter((one) => isIssuerOf(one, anchor));
  return [...issuers, ...configured.filter((one) => issuers.some((issuer) => isIssuerOf(one, issuer)))];
}

/**
 * Returns the certificates whose keys may have signed the issuer's lists: the issuer itself, and configured certificates with its name that a
 * certificate above certifies, because a CA may have changed its key (RFC 5280 §6.3.3 (f)). The issuer may have several certificates with its key. The
 * one in the chain may be made up, if the key is named, and may deny the right to sign lists.
 */
function issuersOf(certificate: Certificate, above: readonly Certificate[], { configured }: RevocationContext): readonly Certificate[] {
  const [issuer] = above;
  if (issuer === undefined) return [];
  const isNamesake = ({ subject }: Certificate) => isSameName(subject, certificate.issuer);
  return [
    ...[...above, ...configured].filter((one) => isNamesake(one) && hasSameKey(one, issuer)),
    ...configured.filter((one) => isNamesake(one) && certifierOf(one, above) !== undefined),
  ];
}

const hasSameKey = (a: Certificate, b: Certificate): boolean => a.subjectPublicKeyInfo.equals(b.subjectPublicKeyInfo);

const certifierOf = (certificate: Certificate, above: readonly Certificate[]): Certificate | undefined =>
  above.find((ca) => certificate.fingerprint === ca.fingerprint || isIssued(certificate, ca));

/**
 * Returns true if this certificate may have signed the list: it has the key of the issuer, or it has another key of the CA and is a CA certificate that
 * was valid when the list was made and was not revoked by its issuer.
 */
function mayHaveSigned(
  issuer: Certificate,
  { thisUpdateMs }: RevocationList,
  above: readonly Certificate[],
  context: RevocationContext,
): boolean {
  const [own] = above;
  if (own && hasSameKey(own, issuer)) return true;
  if (issuer.extensions.basicConstraints?.ca !== true || thisUpdateMs < issuer.notBeforeMs || thisUpdateMs > issuer.notAfterMs)
    return false;
  const certifier = certifierOf(issuer, above);
  return certifier !== undefined && statusOf(issuer, [certifier], { ...context, configured: [] }).status !== 'revoked';
}

function isIssued(certificate: Certificate, issuer: Certificate): boolean {
  try {
    return isIssuedBy(certificate, issuer);
  } catch (error) {
    if (error instanceof Refusal) return false; // The key or the algorithm is not accepted.
    throw error;
  }
}

/** Returns true if a list covers a certificate: if it does not name the certificate, the certificate was not revoked. */
function covers({ scope: { only, isOfSomeReasons, points } }: RevocationList, { extensions }: Certificate): boolean {
  const isCa = extensions.basicConstraints?.ca === true;
  if (isOfSomeReasons || (only === 'users' && isCa) || (only === 'cas' && !isCa)) return false;
  return points === undefined || extensions.listPoints().some((place) => points.some((point) => sameDer(point, place)));
}
