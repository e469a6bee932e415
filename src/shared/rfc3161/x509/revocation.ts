import { sameDer } from '../asn1/der.ts';
import { Refusal } from '../refusal/refusal.ts';
import type { Certificate } from './certificate.ts';
import { type Chain, isIssuedBy } from './chain.ts';
import { isCrlOf, isRevokedAt, type Revocation, type RevocationList } from './crl.ts';
import { isSameName } from './name.ts';

/** The status of each certificate of a chain according to the available revocation lists (RFC 5280 §6.3, V10). */

/** Why no list answers for a certificate: the first of these reasons that stops all lists. */
export const REVOCATION_UNKNOWN = {
  no_list: 'no revocation list of its issuer is available',
  issuer_unknown: 'the certificate of its issuer, needed to check a list, is not available',
  other_signer: 'the list with the name of its issuer has no valid signature of the issuer',
  not_covered: 'the list of its issuer covers other certificates',
  future: 'the list of its issuer is dated in the future',
  outdated: 'the list of its issuer was outdated at genTime',
  before_start: 'the list of its issuer is older than the certificate',
  after_end: 'the list of its issuer was made after the certificate expired',
} as const;
export type RevocationUnknown = keyof typeof REVOCATION_UNKNOWN;

/** One answer for one certificate. */
export type RevocationStatus = { readonly certificate: Certificate } & (
  | { readonly status: 'good'; readonly list: RevocationList }
  | { readonly status: 'revoked'; readonly list: RevocationList; readonly revocation: Revocation }
  | { readonly status: 'unknown'; readonly why: RevocationUnknown }
);

/** The times for judging a chain, in microseconds since the epoch. */
export interface ChainTimes {
  readonly genTime: bigint;
  /** When another proof shows that the token existed; undefined: there is none. */
  readonly existedBy?: bigint | undefined;
}

/** The inputs for judging revocation. */
export interface RevocationContext {
  readonly times: ChainTimes;
  /** Milliseconds since the epoch; a list with a later date does not count yet. */
  readonly nowMs: number;
  readonly lists: readonly RevocationList[];
  /** The reader's own certificates beside those of the chain. */
  readonly configured: readonly Certificate[];
  /** The certificates in the token. */
  readonly embedded: readonly Certificate[];
}

/**
 * The status of each certificate below the anchor, and of a signer that is an anchor itself. A revocation that does not affect a signature at
 * genTime, because the key was not lost, is one of the statuses; `isHarmful` distinguishes them.
 */
export function revocationOf(chain: Chain, context: RevocationContext): readonly RevocationStatus[] {
  const judged = chain.length === 1 ? chain : chain.slice(0, -1);
  return judged.map((certificate, i) => statusOf(certificate, chain.slice(i + 1), context));
}

/** Whether this revocation invalidates a signature of that time. */
export function isHarmful(revocation: Revocation, { genTime, existedBy }: ChainTimes): boolean {
  return isRevokedAt(revocation, Number(genTime / 1000n), existedBy === undefined ? undefined : Number(existedBy / 1000n));
}

/** @param above the rest of the chain, from the issuer on; empty for an anchor that signed */
function statusOf(certificate: Certificate, above: readonly Certificate[], context: RevocationContext): RevocationStatus {
  const { times, nowMs, lists } = context;
  const named = lists.filter(({ issuer }) => isSameName(issuer, certificate.issuer));
  const unknown = (why: RevocationUnknown): RevocationStatus => ({ certificate, status: 'unknown', why });
  if (named.length === 0) return unknown('no_list');
  const issuers = issuersOf(certificate, above, context);
  if (issuers.length === 0) return unknown('issuer_unknown');
  const signed = named.filter((list) => issuers.some((issuer) => isCrlOf(list, issuer) && mayHaveSigned(issuer, list, above, context)));
  if (signed.length === 0) return unknown('other_signer');

  // A list revokes its entries, whatever its scope.
  const serial = certificate.serialNumber.toString('hex');
  const revoking = signed.flatMap((list) => {
    const revocation = list.revoked.get(serial);
    return revocation === undefined ? [] : [{ list, revocation }];
  });
  const worst = revoking.find(({ revocation }) => isHarmful(revocation, times)) ?? revoking[0];
  if (worst !== undefined) return { certificate, status: 'revoked', ...worst };

  const genTimeMs = Number(times.genTime / 1000n);
  const { notBeforeMs, notAfterMs } = certificate;
  const steps: readonly (readonly [RevocationUnknown, (list: RevocationList) => boolean])[] = [
    ['not_covered', (list) => covers(list, certificate)],
    ['future', ({ thisUpdateMs }) => thisUpdateMs <= nowMs],
    ['outdated', ({ thisUpdateMs, nextUpdateMs = thisUpdateMs }) => thisUpdateMs > genTimeMs || nextUpdateMs >= genTimeMs],
    ['before_start', ({ thisUpdateMs }) => thisUpdateMs >= notBeforeMs],
    // A CA may leave out expired certificates.
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

/** The maximum number of certificates with one name that are used from a token: anyone can add more to it. */
const MAX_NAMESAKES = 8;

/**
 * The certificates whose keys may have signed the issuer's lists: the one above in the chain, and configured ones with its name that the chain
 * certifies, since a CA may have changed its key (RFC 5280 §6.3.3 (f)). For an anchor that signed, those that signed the anchor.
 */
function issuersOf(
  certificate: Certificate,
  above: readonly Certificate[],
  { configured, embedded }: RevocationContext,
): readonly Certificate[] {
  const isNamesake = ({ subject }: Certificate) => isSameName(subject, certificate.issuer);
  const [issuer] = above;
  if (issuer === undefined) {
    const known = [...configured.filter(isNamesake), ...embedded.filter(isNamesake).slice(0, MAX_NAMESAKES)];
    return known.filter((one) => isIssued(certificate, one));
  }
  return [issuer, ...configured.filter((one) => isNamesake(one) && certifierOf(one, above) !== undefined)];
}

const certifierOf = (certificate: Certificate, above: readonly Certificate[]): Certificate | undefined =>
  above.find((ca) => certificate.fingerprint === ca.fingerprint || isIssued(certificate, ca));

/** A later key of a CA may sign its lists only while its certificate is a CA certificate, is valid, and is not revoked by its issuer. */
function mayHaveSigned(
  issuer: Certificate,
  { thisUpdateMs }: RevocationList,
  above: readonly Certificate[],
  context: RevocationContext,
): boolean {
  const [own] = above;
  if (own === undefined || own.fingerprint === issuer.fingerprint) return true;
  if (issuer.extensions.basicConstraints?.ca !== true || thisUpdateMs < issuer.notBeforeMs || thisUpdateMs > issuer.notAfterMs)
    return false;
  const certifier = certifierOf(issuer, above);
  return certifier !== undefined && statusOf(issuer, [certifier], { ...context, configured: [] }).status !== 'revoked';
}

function isIssued(certificate: Certificate, issuer: Certificate): boolean {
  try {
    return isIssuedBy(certificate, issuer);
  } catch (error) {
    if (error instanceof Refusal) return false; // A key or an algorithm that is not accepted.
    throw error;
  }
}

/** Whether a list without the certificate means that it was not revoked. */
function covers({ scope: { only, isOfSomeReasons, points } }: RevocationList, { extensions }: Certificate): boolean {
  const isCa = extensions.basicConstraints?.ca === true;
  if (isOfSomeReasons || (only === 'users' && isCa) || (only === 'cas' && !isCa)) return false;
  return points === undefined || extensions.listPoints().some((place) => points.some((point) => sameDer(point, place)));
}
