import { der, OID, type SigningIdentity } from '../../src/shared/rfc3161/index.ts';
import {
  caExtensions,
  extension,
  generateSigningKey,
  issueCertificate,
  type KeyAlgorithm,
  type SigningKey,
  signed,
  timeOf,
  tsaExtensions,
  validity,
} from '../../src/tsa/pki.ts';

export { pemOf as pem } from '../../src/shared/rfc3161/index.ts';
export * from '../../src/tsa/pki.ts';

/** Certificates and revocation lists as the development TSA makes them, and others, which a verifier may have to refuse. */

export interface SignerOptions {
  algorithm?: KeyAlgorithm;
  /** Used instead of a new key of `algorithm`. */
  key?: SigningKey;
  commonName?: string;
  serial?: bigint;
  notBeforeMs?: number;
  notAfterMs?: number;
  /** Used instead of the usual extensions of a TSA certificate. */
  extensions?: (publicKey: SigningKey['publicKey']) => readonly Buffer[];
}

/** Issues a TSA certificate that follows RFC 3161 §2.3 and RFC 5280, if the options do not change that. */
export function issueSigner(issuer: SigningIdentity, options: SignerOptions & { nowMs: number }): SigningIdentity {
  const { algorithm = 'p-256', key = generateSigningKey(algorithm), extensions: given, nowMs, ...template } = options;
  const extensions = given?.(key.publicKey) ?? tsaExtensions(key, issuer);
  return issueCertificate({ commonName: 'Development TSA', ...validity(nowMs, 10), ...template, extensions }, key, issuer);
}

interface CaOptions {
  algorithm: KeyAlgorithm;
  nowMs: number;
  commonName?: string;
}

export function issueRoot({ algorithm, nowMs, commonName = 'Root CA' }: CaOptions): SigningIdentity {
  const key = generateSigningKey(algorithm);
  return issueCertificate({ commonName, ...validity(nowMs, 30), extensions: caExtensions(key) }, key);
}

export interface IntermediateOptions extends CaOptions {
  notBeforeMs?: number;
  notAfterMs?: number;
  /** Extensions in addition to those of every CA, for example an extended key usage. */
  extensions?: readonly Buffer[];
}

export function issueIntermediate(root: SigningIdentity, options: IntermediateOptions): SigningIdentity {
  const { algorithm, nowMs, extensions: more = [], ...template } = options;
  const key = generateSigningKey(algorithm);
  const extensions = [...caExtensions(key, root), ...more];
  return issueCertificate({ commonName: 'Time-Stamping CA', ...validity(nowMs, 20), ...template, extensions }, key, root);
}

interface CrlTemplate {
  number: bigint;
  thisUpdateMs: number;
  nextUpdateMs: number;
  /** `serialNumber`: DER INTEGER. `reason`: a CRLReason (RFC 5280 §5.3.1); 1 is keyCompromise. */
  revoked: readonly { serialNumber: Buffer; revokedAtMs: number; reason?: number }[];
}

/** Makes a revocation list of `issuer`, a DER CertificateList (RFC 5280 §5.1). */
export function issueCrl(template: CrlTemplate, issuer: SigningIdentity): Buffer {
  const entries = template.revoked.map(({ serialNumber, revokedAtMs, reason }) =>
    der.sequence(
      serialNumber,
      timeOf(revokedAtMs),
      ...(reason === undefined ? [] : [der.sequence(extension(OID.cRLReason, false, der.enumerated(reason)))]),
    ),
  );
  const body = der.sequence(
    der.integer(1), // v2
    issuer.scheme.certificateAlgorithm,
    issuer.subjectName,
    timeOf(template.thisUpdateMs),
    timeOf(template.nextUpdateMs),
    ...(entries.length === 0 ? [] : [der.sequence(...entries)]),
    der.contextConstructed(0, der.sequence(extension(OID.cRLNumber, false, der.integer(template.number)))),
  );
  return signed(body, issuer);
}
