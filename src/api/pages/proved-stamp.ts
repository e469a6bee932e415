import { X509Certificate } from 'node:crypto';
import type { Vouched } from '../../shared/trust/judge.ts';
import type { CertificateShown, ProvedStamp, TokenDetails } from './stamp-model.ts';

function certificateShown(der: Buffer): CertificateShown {
  const { subject, validFromDate, validToDate, fingerprint256 } = new X509Certificate(der);
  return {
    subject: subject.split('\n').join(', '),
    fingerprint: fingerprint256.replaceAll(':', '').toLowerCase(),
    validFrom: validFromDate.toISOString(),
    validUntil: validToDate.toISOString(),
  };
}

function detailsOf({ verified, hasRevocationLists }: Vouched): TokenDetails | null {
  if (!verified) return null;
  const { policy, serial, accuracyMicroseconds: accuracy, chain } = verified;
  return {
    policy,
    serial,
    accuracySeconds: accuracy === undefined ? null : Number(accuracy) / 1e6,
    chain: chain.map(({ der }) => certificateShown(der)),
    hasRevocationLists,
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
