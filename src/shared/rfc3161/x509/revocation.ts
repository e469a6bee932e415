import { sameDer } from '../asn1/der.ts';
import { Refusal } from '../refusal/refusal.ts';
import type { Certificate } from './certificate.ts';
import { type Chain, isIssuedBy } from './chain.ts';
import { isCrlOf, isRevokedAt, type Revocation, type RevocationList } from './crl.ts';
import { isSameName } from './name.ts';

/** What the revocation lists at hand say of each certificate of a chain (RFC 5280 §6.3, V10). */

/** Why no list answers for a certificate: the first of these that no list gets past. */
export const REVOCATION_UNKNOWN = {
  no_list: 'no list of its issuer is at hand',
  issuer_unknown: 'the certificate of its issuer, by which a list could be checked, is not at hand',
  other_signer: 'the list that bears the name of its issuer has no signature of its issuer that counts',
  not_covered: 'the list of its issuer is about other certificates',
  future: 'the list of its issuer is dated in the future',
  outdated: 'the list of its issuer was no longer in force at genTime',
  before_start: 'the list of its issuer is older than the certificate',
  after_end: 'the list of its issuer was made after the certificate had ended',
} as const;
export type RevocationUnknown = keyof typeof REVOCATION_UNKNOWN;

/** One answer for one certificate. */
export type RevocationStatus = { readonly certificate: Certificate } & (
  | { readonly status: 'good'; readonly list: RevocationList }
  | { readonly status: 'revoked'; readonly list: RevocationList; readonly revocation: Revocation }
  | { readonly status: 'unknown'; readonly why: RevocationUnknown }
);

/** The times at which a chain is judged, microseconds since the epoch. */
export interface ChainTimes {
  readonly genTime: bigint;
  /** When something else has proved that the token was there; undefined: nothing has. */
  readonly existedBy?: bigint | undefined;
}

/** What revocation is judged by. */
export interface RevocationContext {
  readonly times: ChainTimes;
  /** Milliseconds since the epoch; a list that is dated later says nothing yet. */
  readonly nowMs: number;
  readonly lists: readonly RevocationList[];
  /** The reader's own certificates beside those of the chain. */
  readonly configured: readonly Certificate[];
  /** Those that came with the token. */
  readonly embedded: readonly Certificate[];
}

/**
 * The status of each certificate below the anchor, and of a signer that is an anchor itself. A revocation that does not concern what was
 * signed at genTime, because the key was kept, is a status like any other; `isHarmful` tells it from one that does.
 */
export function revocationOf(chain: Chain, context: RevocationContext): readonly RevocationStatus[] {
  const judged = chain.length === 1 ? chain : chain.slice(0, -1);
  return judged.map((certificate, i) => statusOf(certificate, chain.slice(i + 1), context));
}

/** Whether a certificate with this revocation must not be relied on for what was signed then. */
export function isHarmful(revocation: Revocation, { genTime, existedBy }: ChainTimes): boolean {
  return isRevokedAt(revocation, Number(genTime / 1000n), existedBy === undefined ? undefined : Number(existedBy / 1000n));
}

/** @param above the rest of the chain, from the issuer on; none of an anchor that signed */
function statusOf(certificate: Certificate, above: readonly Certificate[], context: RevocationContext): RevocationStatus {
  const { times, nowMs, lists } = context;
  const named = lists.filter(({ issuer }) => isSameName(issuer, certificate.issuer));
  const unknown = (why: RevocationUnknown): RevocationStatus => ({ certificate, status: 'unknown', why });
  if (named.length === 0) return unknown('no_list');
  const issuers = issuersOf(certificate, above, context);
  if (issuers.length === 0) return unknown('issuer_unknown');
  const signed = named.filter((list) => issuers.some((issuer) => isCrlOf(list, issuer) && mayHaveSigned(issuer, list, above, context)));
  if (signed.length === 0) return unknown('other_signer');

  // Whatever a list is about, it revokes the certificates that it names.
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
    // A CA may leave out what has ended.
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

/** As many certificates of one name are looked at among those of a token: anybody can put more into it. */
const MAX_NAMESAKES = 8;

/**
 * The certificates with whose keys the issuer may have signed its lists: the one above in the chain, and configured ones of its name that
 * the chain certifies, since a CA may have changed its key (RFC 5280 §6.3.3 (f)). Of an anchor that signed, those that signed the anchor.
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

/** A later key of a CA signs its lists only while its certificate is that of a CA, is valid, and is not revoked by whoever certified it. */
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
    if (error instanceof Refusal) return false; // A key or an algorithm that is not relied on.
    throw error;
  }
}

/** Whether a list without the certificate says that it was not revoked. */
function covers({ scope: { only, isOfSomeReasons, points } }: RevocationList, { extensions }: Certificate): boolean {
  const isCa = extensions.basicConstraints?.ca === true;
  if (isOfSomeReasons || (only === 'users' && isCa) || (only === 'cas' && !isCa)) return false;
  return points === undefined || extensions.listPoints().some((place) => points.some((point) => sameDer(point, place)));
}
