import {
  type CertificateIdentity,
  REVOCATION_UNKNOWN,
  type RevocationAnswer,
  UNCHECKED,
  type Unchecked,
  type Verified,
} from '../rfc3161/index.ts';
import { filled, type SentenceWords } from './language.ts';
import type { Imprint } from './stamp.ts';

/** This module describes a judged token in one form for API, command and page, so that they agree. Times are in RFC 3339. */

const textOfTime = (date: Date): string => date.toISOString().replace('.000Z', 'Z');

export const certificateShown = ({ subject, issuer, serialHex, fingerprint, notBefore, notAfter }: CertificateIdentity) => ({
  subject,
  issuer,
  serial: serialHex,
  sha256: fingerprint,
  not_before: textOfTime(notBefore),
  not_after: textOfTime(notAfter),
});

/**
 * The status of one certificate (V10). `list`: the revocation list that gives the status. `invalid_since`: when the certificate became invalid, if
 * the list says so. `reason`: why it was revoked, or why the status is unknown.
 */
function revocationShown(answer: RevocationAnswer) {
  const { certificate, status } = answer;
  const about = { subject: certificate.subject, sha256: certificate.fingerprint, status, revoked_at: null, invalid_since: null };
  if (answer.status === 'unknown') return { ...about, list: null, reason: REVOCATION_UNKNOWN[answer.why] };
  const { issuer, thisUpdate, nextUpdate } = answer.list;
  const list = { issuer, this_update: textOfTime(thisUpdate), next_update: nextUpdate ? textOfTime(nextUpdate) : null };
  if (answer.status === 'good') return { ...about, list, reason: null };
  const { revokedAt, invalidSince, reason = null } = answer;
  return { ...about, list, revoked_at: textOfTime(revokedAt), invalid_since: invalidSince ? textOfTime(invalidSince) : null, reason };
}

/** Codes without a sentence here: the caller reports on the file (`imprint`), and each certificate has its own line (`revocation`). */
const withoutSentence: readonly Unchecked[] = ['imprint', 'revocation'];

/** Everything that was not checked, as phrases with named values, except the file: only the caller knows about the file. Pages translate them. */
export function notCheckedPhrases({ revocation, certificatesEndedAt, unchecked }: Verified): readonly SentenceWords[] {
  const unknown = revocation.flatMap((answer) => (answer.status === 'unknown' ? [answer] : []));
  return [
    ...unknown.map(({ certificate: { subject }, why }) => ({
      text: 'whether {subject} was revoked: {reason}',
      values: { subject, reason: REVOCATION_UNKNOWN[why] },
    })),
    ...(certificatesEndedAt === undefined ? [] : [{ text: keyStolenLater, values: { time: textOfTime(certificatesEndedAt) } }]),
    ...unchecked.filter((code) => !withoutSentence.includes(code)).map((code) => ({ text: UNCHECKED[code], values: {} })),
  ];
}

const keyStolenLater = 'whether a key was stolen after its certificate expired at {time}: nobody reports that any more';

export const hexImprintOf = ({ imprint: { algorithm, digest } }: Pick<Verified, 'imprint'>): Imprint => ({
  algorithm,
  digest: digest.toString('hex'),
});

export const tokenShown = (verified: Verified) => ({
  signer: certificateShown(verified.signer),
  trust_anchor: certificateShown(verified.chain.at(-1)!),
  policy: verified.policy,
  accuracy_seconds: verified.accuracyMicroseconds === undefined ? null : Number(verified.accuracyMicroseconds) / 1e6,
  revocation: verified.revocation.map(revocationShown),
  certificates_ended_at: verified.certificatesEndedAt ? textOfTime(verified.certificatesEndedAt) : null,
  not_checked: notCheckedPhrases(verified).map(filled),
});
export type TokenShown = ReturnType<typeof tokenShown>;

/** Converts a genTime to RFC 3339 in UTC: `20261121120000.25Z` becomes `2026-11-21T12:00:00.250Z`. */
export function rfc3339Of(genTimeText: string): string {
  const part = (from: number, to?: number) => genTimeText.slice(from, to);
  return withUsualFraction(`${part(0, 4)}-${part(4, 6)}-${part(6, 8)}T${part(8, 10)}:${part(10, 12)}:${part(12)}`);
}

/**
 * Gives the fraction of a second three or six digits (S8), because Python before 3.11 cannot read other fractions. Adds zeros, and removes digits
 * after microseconds. A time without a fraction is returned unchanged, like any other text.
 */
const withUsualFraction = (rfc3339: string): string =>
  rfc3339.replace(/\.(\d+)Z$/, (_, digits: string) => `.${digits.slice(0, 6).padEnd(digits.length > 3 ? 6 : 3, '0')}Z`);

/** For the store: where the token and its parts are in a TSA's answer. */
export { answerSpansOf, tokenIn } from '../rfc3161/index.ts';

/**
 * Decodes a token in the forms that people and programs pass on: base64 in either alphabet (RFC 4648 §4, §5), with or without padding, in one or
 * more lines. Returns undefined for any other text. Only white space is skipped, so a text means only one token.
 */
export function bytesOfTokenText(text: string): Buffer | undefined {
  const compact = text.replace(/\s+/g, '').replaceAll('-', '+').replaceAll('_', '/');
  const bytes = Buffer.from(compact, 'base64');
  const canonical = bytes.toString('base64');
  return bytes.length > 0 && (compact === canonical || compact === canonical.replace(/=+$/, '')) ? bytes : undefined;
}
