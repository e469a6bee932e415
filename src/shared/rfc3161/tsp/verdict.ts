import { membersOf, parseDer, TAG } from '../asn1/der.ts';
import { integerOf, oidOf } from '../asn1/der-values.ts';
import { OID } from '../asn1/oids.ts';
import type { UnusedParts } from '../cms/signed-data.ts';
import { Refusal } from '../refusal/refusal.ts';
import type { Certificate } from '../x509/certificate.ts';
import type { Chain } from '../x509/chain.ts';
import { CRL_REASONS } from '../x509/crl.ts';
import { nameText } from '../x509/name.ts';
import type { RevocationStatus } from '../x509/revocation.ts';
import type { TrustStore } from '../x509/trust-store.ts';
import type { TstInfo } from './tst-info.ts';
import type { CertificateIdentity, RevocationAnswer, TstExtension, Unchecked, VerifiedToken } from './types.ts';

/** The facts about a token that passed all checks, from which the result is made. */
interface VerifiedFacts {
  readonly tstInfo: TstInfo;
  readonly chain: Chain;
  readonly revocation: readonly RevocationStatus[];
  readonly unusedParts: UnusedParts;
  /** The TimeStampToken as received. */
  readonly token: Buffer;
  readonly grantedWithMods: boolean;
  readonly isImprintChecked: boolean;
}

export function verifiedOf(found: VerifiedFacts, trust: TrustStore, nowMs: number): VerifiedToken {
  const { tstInfo, chain, revocation, token, grantedWithMods } = found;
  const { genTime } = tstInfo;
  return {
    ok: true,
    genTime: new Date(genTime.milliseconds),
    genTimeText: genTime.text,
    genTimeMicroseconds: genTime.microseconds,
    accuracyMicroseconds: tstInfo.accuracy,
    serial: tstInfo.serial.toString(),
    policy: tstInfo.policy,
    imprint: tstInfo.imprint,
    nonce: tstInfo.nonce,
    ordering: tstInfo.ordering,
    extensions: tstInfo.extensions,
    signer: identityOf(chain[0]),
    chain: chain.map(identityOf),
    anchorFingerprint: chain.at(-1)!.fingerprint,
    revocation: revocation.map(answerOf),
    certificatesEndedAt: firstEndBefore(chain, nowMs),
    token,
    grantedWithMods,
    unchecked: uncheckedOf(found, trust),
  };
}

function firstEndBefore(chain: Chain, nowMs: number): Date | undefined {
  const firstMs = Math.min(...chain.map(({ notAfterMs }) => notAfterMs));
  return firstMs < nowMs ? new Date(firstMs) : undefined;
}

function uncheckedOf(
  { revocation, unusedParts, isImprintChecked }: VerifiedFacts,
  { areCaPurposesIgnored }: TrustStore,
): readonly Unchecked[] {
  const unchecked: readonly [Unchecked, boolean][] = [
    ['imprint', !isImprintChecked],
    ['revocation', revocation.some(({ status }) => status === 'unknown')],
    ['revocation_data', unusedParts.hasRevocationData],
    ['unsigned_attributes', unusedParts.hasUnsignedAttributes],
    ['other_certificates', unusedParts.hasOtherCertificates],
    ['ca_purposes', areCaPurposesIgnored],
  ];
  return unchecked.filter(([, isUnchecked]) => isUnchecked).map(([code]) => code);
}

function answerOf(found: RevocationStatus): RevocationAnswer {
  const certificate = identityOf(found.certificate);
  if (found.status === 'unknown') return { certificate, status: 'unknown', why: found.why };
  const { issuer, thisUpdateMs, nextUpdateMs } = found.list;
  const list = {
    issuer: nameText(issuer),
    thisUpdate: new Date(thisUpdateMs),
    nextUpdate: nextUpdateMs === undefined ? undefined : new Date(nextUpdateMs),
  };
  if (found.status === 'good') return { certificate, status: 'good', list };
  const { revokedAtMs, invalidSinceMs, reason } = found.revocation;
  return {
    certificate,
    status: 'revoked',
    list,
    revokedAt: new Date(revokedAtMs),
    invalidSince: invalidSinceMs === undefined ? undefined : new Date(invalidSinceMs),
    reason: reason === undefined ? undefined : CRL_REASONS[reason],
  };
}

const identities = new WeakMap<Certificate, CertificateIdentity>();

/** Returns the data about a certificate. It is the same for every token with this certificate, so it is made once. */
function identityOf(certificate: Certificate): CertificateIdentity {
  let identity = identities.get(certificate);
  if (identity === undefined) {
    identity = {
      subject: nameText(certificate.subject),
      issuer: nameText(certificate.issuer),
      serialHex: integerOf(parseDer(certificate.serialNumber), 'serialNumber').toString(16),
      fingerprint: certificate.fingerprint,
      notBefore: new Date(certificate.notBeforeMs),
      notAfter: new Date(certificate.notAfterMs),
      der: certificate.der,
    };
    identities.set(certificate, identity);
  }
  return identity;
}

/** Returns true if a token says that it is a qualified time-stamp: the statement esi4-qtstStatement-1 in qcStatements (EN 319 422 §9.1). */
export function hasQualifiedStatement(extensions: readonly TstExtension[]): boolean {
  return extensions.some(({ type, value }) => type === OID.qcStatements && statementsOf(value).includes(OID.qualifiedTimeStamp));
}

/** The statements that can be read. The extension is not critical, so a malformed one does not make the token invalid. */
function statementsOf(value: Buffer): string[] {
  try {
    const { children } = parseDer(value);
    return children.map((statement) => oidOf(membersOf(statement, 'QCStatement').take(TAG.oid, 'statementId'), 'statementId'));
  } catch (error) {
    if (error instanceof Refusal) return [];
    throw error;
  }
}
