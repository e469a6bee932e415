import { toldToken } from '../../shared/domain/told-token.ts';
import type { Vouched } from '../../shared/trust/judge.ts';
import type { ProvedStamp, TokenDetails } from './stamp-model.ts';

function detailsOf({ verified }: Vouched): TokenDetails | null {
  if (!verified) return null;
  const told = toldToken(verified);
  const { serial, chain, record } = verified;
  return {
    policy: told.policy,
    serial,
    accuracySeconds: told.accuracy_seconds,
    chain: chain.map(({ subject, fingerprint, notBefore, notAfter }) => ({
      subject,
      fingerprint,
      validFrom: notBefore.toISOString(),
      validUntil: notAfter.toISOString(),
      revocation: told.revocation.find(({ sha256 }) => sha256 === fingerprint) ?? null,
    })),
    notChecked: told.not_checked,
    certificatesEndedAt: told.certificates_ended_at,
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
