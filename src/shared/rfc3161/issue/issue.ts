import { createPublicKey, type KeyObject } from 'node:crypto';
import { objectIdentifier, octetString, sequence } from '../asn1/der-writer.ts';
import { OID } from '../asn1/oids.ts';
import { Refusal } from '../refusal/refusal.ts';
import { requestOf, type TimeStampRequest } from '../tsp/request.ts';
import { failureOf, PKI_FAILURE, PKI_STATUS, type PkiFailure } from '../tsp/response.ts';
import { digestData, digestIdentifier } from '../x509/algorithms.ts';
import type { Certificate } from '../x509/certificate.ts';
import { isSameName, isSelfIssued } from '../x509/name.ts';
import {
  type Accuracy,
  type Attribute,
  encodeAttributes,
  encodeResponse,
  encodeSigningCertificateV2,
  encodeToken,
  encodeTstInfo,
  genTimeText,
  type ResponseParts,
  type SignerParts,
  type TokenParts,
  type TstInfoFields,
} from './encode.ts';
import { type SignatureScheme, schemeOfKey } from './sign.ts';

/** This module issues a time-stamp in one step, or in separate steps: a test that needs a faulty time-stamp changes the data between two steps. */

/** A key with its certificate, for a TSA or a CA. */
export interface SigningIdentity {
  /** DER certificate. */
  certificate: Buffer;
  /** DER Name. */
  subjectName: Buffer;
  /** DER Name. */
  issuerName: Buffer;
  /** DER INTEGER. */
  serialNumber: Buffer;
  privateKey: KeyObject;
  scheme: SignatureScheme;
  /** DER certificates between `certificate` and the root, nearest first, without the root. */
  chain: readonly Buffer[];
}

export interface TsaProfile {
  identity: SigningIdentity;
  /** Policy OIDs. The first is used if the request does not name a policy. */
  policies: readonly [string, ...string[]];
  accuracy?: Accuracy;
}

/** The values that are different in each answer. */
export interface Moment {
  /** Milliseconds since the epoch. */
  timeMs: number;
  /** The serial number of the token. It must be positive, and unique for the TSA (RFC 3161 §2.4.2). */
  serial: bigint;
}

/**
 * Makes the TimeStampResp for the DER of a TimeStampReq (RFC 3161 §2.4): granted with a token, or a rejection with a PKIFailureInfo. The function is
 * pure: time and serial number are arguments. It throws only if the key cannot sign.
 */
export function issueResponse(profile: TsaProfile, requestDer: Buffer, moment: Moment): Buffer {
  const accepted = acceptRequest(requestDer, profile.policies);
  if (!accepted.ok) return encodeResponse(rejectionOf(accepted.failure, accepted.detail));
  const { request } = accepted;
  const { identity } = profile;
  const eContent = encodeTstInfo(tstInfoFieldsOf(profile, request, moment));
  const signer = signAttributes(identity, encodeAttributes(signedAttributesOf(identity, eContent)));
  const token = encodeToken(tokenPartsOf(identity, request.certReq, eContent, signer));
  return encodeResponse({ status: PKI_STATUS.granted, token });
}

export function rejectionOf(failure: PkiFailure, statusText: string): ResponseParts {
  return { status: PKI_STATUS.rejection, statusText, failInfo: [PKI_FAILURE[failure]] };
}

/** Makes the TSTInfo for a granted request. */
export function tstInfoFieldsOf(profile: TsaProfile, request: TimeStampRequest, moment: Moment): TstInfoFields {
  return {
    version: 1,
    policy: request.policy ?? profile.policies[0],
    imprint: { algorithmDer: request.imprintAlgorithmDer, digest: request.imprint.digest },
    serial: moment.serial,
    genTime: genTimeText(moment.timeMs),
    accuracy: profile.accuracy,
    nonce: request.nonce,
  };
}

/** Makes the attributes that RFC 3161 §2.4.2 and RFC 5816 require. */
export const signedAttributesOf = (identity: SigningIdentity, eContent: Buffer): readonly Attribute[] => [
  { type: OID.contentType, values: [objectIdentifier(OID.tstInfo)] },
  { type: OID.messageDigest, values: [octetString(digestData(identity.scheme.digest, eContent))] },
  { type: OID.signingCertificateV2, values: [constantPartsOf(identity).signingCertificate] },
];

/** Signs a DER SET OF Attribute, and makes the SignerInfo (RFC 5652 §5.4). */
export function signAttributes(identity: SigningIdentity, signedAttributes: Buffer): SignerParts {
  const { scheme } = identity;
  const { sid, digestAlgorithm } = constantPartsOf(identity);
  return {
    version: 1, // the sid is an IssuerAndSerialNumber (RFC 5652 §5.3)
    sid,
    digestAlgorithm,
    signedAttributes,
    signatureAlgorithm: scheme.cmsAlgorithm,
    signature: scheme.sign(signedAttributes, identity.privateKey),
  };
}

/** Makes the parts of a TimeStampToken (RFC 3161 §2.4.2): CMS SignedData with one SignerInfo (RFC 5652 §5). */
export function tokenPartsOf(identity: SigningIdentity, certReq: boolean, eContent: Buffer, signer: SignerParts): TokenParts {
  return {
    contentType: OID.signedData,
    version: 3, // the content is not id-data (RFC 5652 §5.1)
    digestAlgorithms: [signer.digestAlgorithm],
    eContentType: OID.tstInfo,
    eContent,
    certificates: certReq ? constantPartsOf(identity).certificates : [],
    crls: [],
    signers: [signer],
  };
}

type ConstantParts = Pick<SignerParts, 'sid' | 'digestAlgorithm'> &
  Pick<TokenParts, 'certificates'> & { readonly signingCertificate: Buffer };

const constantParts = new WeakMap<SigningIdentity, ConstantParts>();

/** Returns the parts that are the same in every token of an identity. They are made once. */
function constantPartsOf(identity: SigningIdentity): ConstantParts {
  const known = constantParts.get(identity);
  if (known) return known;
  const { certificate, chain, issuerName, serialNumber, scheme } = identity;
  const parts = {
    sid: sequence(issuerName, serialNumber),
    digestAlgorithm: digestIdentifier(scheme.digest),
    // In DER, the elements of a SET OF are sorted (X.690 §11.6).
    certificates: [certificate, ...chain].sort(Buffer.compare),
    signingCertificate: encodeSigningCertificateV2(digestData('sha256', certificate), issuerName, serialNumber),
  };
  constantParts.set(identity, parts);
  return parts;
}

/** The error for a key and certificates that cannot be those of a TSA. The message is a clause with the reason: its subject is the key. */
export class IdentityError extends Error {
  override readonly name = 'IdentityError';
}

/** Returns the certificates above `signer`, nearest first, without the root. The list ends at the first certificate that is not in `certificates`. */
function chainAbove(signer: Certificate, certificates: readonly Certificate[]): Buffer[] {
  const chain: Certificate[] = [];
  let last = signer;
  while (!isSelfIssued(last)) {
    const above = certificates.find((candidate) => isSameName(candidate.subject, last.issuer) && !chain.includes(candidate));
    if (above === undefined || isSelfIssued(above)) break;
    chain.push(above);
    last = above;
  }
  return chain.map(({ der }) => der);
}

/**
 * Makes the signing identity of a TSA from its private key and from certificates in any order: it takes the certificate of the key, and the
 * certificates above this one. It does not check that they are suitable for time-stamps: the caller verifies a first token for that.
 *
 * @throws IdentityError if no certificate belongs to the key, or if the key cannot make time-stamps
 */
export function identityOf(privateKey: KeyObject, certificates: readonly Certificate[]): SigningIdentity {
  const publicKey = createPublicKey(privateKey);
  const own = certificates.find((certificate) => {
    try {
      return certificate.publicKey().key.equals(publicKey);
    } catch (error) {
      if (error instanceof Refusal) return false;
      throw error;
    }
  });
  if (own === undefined)
    throw new IdentityError('does not belong to any of the certificates, or is of a kind that verifiers do not accept');
  const scheme = schemeOfKey(own.publicKey());
  if (scheme === undefined) throw new IdentityError(`is of a kind that cannot make time-stamps: ${privateKey.asymmetricKeyType}`);
  const { der: certificate, subject: subjectName, issuer: issuerName, serialNumber } = own;
  return { certificate, subjectName, issuerName, serialNumber, privateKey, scheme, chain: chainAbove(own, certificates) };
}

type AcceptedRequest =
  | { readonly ok: true; readonly request: TimeStampRequest }
  | {
      readonly ok: false;
      readonly failure: PkiFailure;
      readonly detail: string;
      /** False if the bytes are not the DER of a TimeStampReq. */
      readonly isRequest: boolean;
    };

const refused = (failure: PkiFailure, detail: string, isRequest = true) => ({ ok: false, failure, detail, isRequest }) as const;

/**
 * Reads the DER of a TimeStampReq. Returns the request if a TSA with these policies can grant it, and otherwise the fault (RFC 3161 §2.4.2). Never
 * throws, whatever the bytes are.
 */
export function acceptRequest(der: Uint8Array, policies: readonly string[]): AcceptedRequest {
  try {
    const request = requestOf(der);
    if (request.version !== 1) return refused('badRequest', 'Only version 1 requests are known.');
    if (request.hasExtensions) return refused('unacceptedExtension', 'No request extension is supported.');
    if (request.policy !== undefined && !policies.includes(request.policy)) {
      return refused('unacceptedPolicy', 'The requested policy is not offered.');
    }
    return { ok: true, request };
  } catch (error) {
    if (error instanceof Refusal) return refused(failureOf(error.code), error.message, !error.code.startsWith('der_'));
    throw error;
  }
}
