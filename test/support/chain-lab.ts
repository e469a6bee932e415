import { boolean, integer, sequence } from '../../src/shared/rfc3161/asn1/der-writer.ts';
import { OID } from '../../src/shared/rfc3161/asn1/oids.ts';
import type { SigningIdentity } from '../../src/shared/rfc3161/issue/issue.ts';
import type { VerifyResult } from '../../src/shared/rfc3161/tsp/types.ts';
import { verifyToken } from '../../src/shared/rfc3161/tsp/verify.ts';
import { createTrustStore, type TrustMaterial } from '../../src/shared/rfc3161/x509/trust-store.ts';
import * as x509 from './certificates.ts';
import { issueSigner } from './certificates.ts';
import { createTsaLab, DAY_MS, LAB_NOW_MS } from './tsa-lab.ts';
import type { Seams } from './tsa-seams.ts';

/** Certificates in any relation to each other, and tokens that contain them. */

export const lab = createTsaLab();
/** Start of the validity of the certificates, milliseconds since the epoch. */
export const FROM_MS = LAB_NOW_MS - 365 * DAY_MS;

export interface CaOptions {
  key?: x509.SigningKey;
  name?: string;
  extensions?: readonly Buffer[];
  notAfterMs?: number;
  serial?: bigint;
}

export const caUsage = x509.keyUsage(x509.KEY_USAGE.keyCertSign, x509.KEY_USAGE.cRLSign);
export const pathLength = (limit: number) => x509.extension(OID.basicConstraints, true, sequence(boolean(true), integer(limit)));

/** A CA below `issuer`, or a root; a key may have several certificates. */
export function ca(issuer: SigningIdentity | undefined, options: CaOptions = {}): SigningIdentity {
  const { key = x509.generateSigningKey('p-256'), name = 'A CA', extensions = [x509.basicConstraints(true), caUsage] } = options;
  const template = {
    commonName: name,
    serial: options.serial ?? 7n,
    notBeforeMs: FROM_MS,
    notAfterMs: options.notAfterMs ?? LAB_NOW_MS + DAY_MS,
  };
  return x509.issueCertificate({ ...template, extensions }, key, issuer);
}

/** A TSA of `issuer`. */
export const below = (issuer: SigningIdentity) => issueSigner(issuer, { nowMs: FROM_MS });

/** A token by `identity`, with `certificates` besides the signer's. */
export function tokenBy(identity: SigningIdentity, certificates: readonly Buffer[] = identity.chain, seams: Seams = {}): Buffer {
  return lab.specimen({
    profile: { identity },
    seams: { ...seams, token: (parts) => ({ ...parts, certificates: [identity.certificate, ...certificates] }) },
  }).answer;
}

/** Verifies a raw token. */
export function judgeRaw(token: Buffer, material: Partial<TrustMaterial>): Promise<VerifyResult> {
  return verifyToken(token, { trust: createTrustStore({ anchors: [], ...material }), nowMs: LAB_NOW_MS });
}
