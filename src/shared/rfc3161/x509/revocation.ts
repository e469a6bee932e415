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
  other_signer: 'the list that bears the name of its issuer was signed by another key',
  not_covered: 'the list of its issuer is about other certificates',
  outdated: 'the list of its issuer was no longer in force at genTime',
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

/**
 * The status of each certificate below the anchor, and of a signer that is an anchor itself. A revocation that does not concern what was
 * signed at genTime, because the key was kept, is a status like any other; `isHarmful` tells it from one that does.
 *
 * @param known more certificates: the issuer of an anchor that signed, or a later key of a CA of the chain, may be among them
 */
export function revocationOf(
  chain: Chain,
  times: ChainTimes,
  lists: readonly RevocationList[],
  known: readonly Certificate[],
): readonly RevocationStatus[] {
  const judged = chain.length === 1 ? chain : chain.slice(0, -1);
  return judged.map((certificate, i) => statusOf(certificate, chain.slice(i + 1), times, lists, known));
}

/** Whether a certificate with this revocation must not be relied on for what was signed then. */
export function isHarmful(revocation: Revocation, { genTime, existedBy }: ChainTimes): boolean {
  return isRevokedAt(revocation, Number(genTime / 1000n), existedBy === undefined ? undefined : Number(existedBy / 1000n));
}

function statusOf(
  certificate: Certificate,
  above: readonly Certificate[],
  times: ChainTimes,
  lists: readonly RevocationList[],
  known: readonly Certificate[],
): RevocationStatus {
  const named = lists.filter(({ issuer }) => isSameName(issuer, certificate.issuer));
  const unknown = (why: RevocationUnknown): RevocationStatus => ({ certificate, status: 'unknown', why });
  if (named.length === 0) return unknown('no_list');
  const signed = named.filter((list) => isSignedByIssuer(list, certificate, above, known));
  if (signed.length === 0) return unknown('other_signer');

  // Whatever a list is about, it revokes the certificates that it names.
  const serial = certificate.serialNumber.toString('hex');
  const revoking = signed.flatMap((list) => {
    const revocation = list.revoked.get(serial);
    return revocation === undefined ? [] : [{ list, revocation }];
  });
  const worst = revoking.find(({ revocation }) => isHarmful(revocation, times)) ?? revoking[0];
  if (worst !== undefined) return { certificate, status: 'revoked', ...worst };

  const covering = signed.filter((list) => covers(list, certificate));
  if (covering.length === 0) return unknown('not_covered');
  const genTimeMs = Number(times.genTime / 1000n);
  const current = covering.filter(({ thisUpdateMs, nextUpdateMs = thisUpdateMs }) => thisUpdateMs > genTimeMs || nextUpdateMs >= genTimeMs);
  if (current.length === 0) return unknown('outdated');
  // A CA may leave out what has ended.
  const answering = current.filter(({ thisUpdateMs }) => thisUpdateMs <= certificate.notAfterMs);
  if (answering.length === 0) return unknown('after_end');
  const newest = answering.reduce((a, b) => (b.thisUpdateMs > a.thisUpdateMs ? b : a));
  return { certificate, status: 'good', list: newest };
}

/** As many certificates of one name are looked at: anybody can put more into a token. */
const MAX_NAMESAKES = 8;

/**
 * Whether the issuer of the certificate signed the list: with the key above it in the chain, or with another one of its keys, which that
 * chain certifies (RFC 5280 §6.3.3 (f)). Of an anchor that signed, the issuer is whoever signed the anchor.
 */
function isSignedByIssuer(
  list: RevocationList,
  certificate: Certificate,
  above: readonly Certificate[],
  known: readonly Certificate[],
): boolean {
  const [issuer] = above;
  if (issuer !== undefined && isCrlOf(list, issuer)) return true;
  const isCertified = (one: Certificate) =>
    issuer === undefined ? isIssued(certificate, one) : above.some((ca) => one.fingerprint === ca.fingerprint || isIssued(one, ca));
  const namesakes = known.filter(({ subject }) => isSameName(subject, list.issuer)).slice(0, MAX_NAMESAKES);
  return namesakes.some((one) => isCertified(one) && isCrlOf(list, one));
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
