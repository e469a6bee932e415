import { contentsOf, parseDer } from '../asn1/der.ts';
import type { Company } from '../cms/signed-data.ts';
import type { Certificate } from '../x509/certificate.ts';
import type { Chain } from '../x509/chain.ts';
import { nameText } from '../x509/name.ts';
import { isRevocationChecked } from '../x509/path-rules.ts';
import type { TrustStore } from '../x509/trust-store.ts';
import type { TstInfo } from './tst-info.ts';
import type { CertificateIdentity, Unchecked, Verified } from './types.ts';

/** What is told about a token that passed every check. */

export interface Found {
  readonly tstInfo: TstInfo;
  readonly chain: Chain;
  readonly company: Company;
  /** The TimeStampToken as it came. */
  readonly token: Buffer;
  readonly grantedWithMods: boolean;
  readonly isImprintChecked: boolean;
}

export function verifiedOf({ tstInfo, chain, company, token, grantedWithMods, isImprintChecked }: Found, trust: TrustStore): Verified {
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
    token,
    grantedWithMods,
    unchecked: uncheckedOf(chain, company, isImprintChecked, trust),
  };
}

function uncheckedOf(chain: Chain, company: Company, isImprintChecked: boolean, trust: TrustStore): readonly Unchecked[] {
  const unchecked: readonly [Unchecked, boolean][] = [
    ['imprint', !isImprintChecked],
    ['revocation', !isRevocationChecked(chain, trust.crls, trust.certificates)],
    ['revocation_data', company.hasRevocationData],
    ['unsigned_attributes', company.hasUnsignedAttributes],
    ['other_certificates', company.hasOtherCertificates],
    ['ca_purposes', trust.areCaPurposesIgnored],
  ];
  return unchecked.filter(([, isUnchecked]) => isUnchecked).map(([code]) => code);
}

const identities = new WeakMap<Certificate, CertificateIdentity>();

/** The same for every token with the certificate, so made once. */
function identityOf(certificate: Certificate): CertificateIdentity {
  let identity = identities.get(certificate);
  if (identity === undefined) {
    identity = {
      subject: nameText(certificate.subject),
      issuer: nameText(certificate.issuer),
      serialHex: contentsOf(parseDer(certificate.serialNumber))
        .toString('hex')
        .replace(/^0+(?=.)/, ''),
      fingerprint: certificate.fingerprint,
      notBefore: new Date(certificate.notBeforeMs),
      notAfter: new Date(certificate.notAfterMs),
      der: certificate.der,
    };
    identities.set(certificate, identity);
  }
  return identity;
}
