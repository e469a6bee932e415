import type { CertificateIdentity } from '../../shared/rfc3161/index.ts';
import type { Vouched } from '../../shared/trust/judge.ts';
import type { CertificateShown, ProvedStamp, TokenDetails } from './stamp-model.ts';

const certificateShown = ({ subject, fingerprint, notBefore, notAfter }: CertificateIdentity): CertificateShown => ({
  subject,
  fingerprint,
  validFrom: notBefore.toISOString(),
  validUntil: notAfter.toISOString(),
});

function detailsOf({ verified, hasRevocationLists }: Vouched): TokenDetails | null {
  if (!verified) return null;
  const { policy, serial, accuracyMicroseconds: accuracy, chain, record } = verified;
  return {
    policy,
    serial,
    accuracySeconds: accuracy === undefined ? null : Number(accuracy) / 1e6,
    chain: chain.map(certificateShown),
    hasRevocationLists,
    record: record === undefined ? null : { tokens: record.tokens.length, holdsUntil: record.holdsUntil.toISOString() },
  };
}

/** What a page may say of a token that was just verified. */
export const provedStampOf = (vouched: Vouched): ProvedStamp => ({
  stampedAt: vouched.issuedAt,
  provider: vouched.isProviderKnown ? (vouched.provider ?? null) : null,
  isQualified: vouched.isQualified,
  imprint: vouched.imprint,
  details: detailsOf(vouched),
});
