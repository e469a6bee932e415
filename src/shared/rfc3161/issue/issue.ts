import type { KeyObject } from 'node:crypto';
import { objectIdentifier, octetString, sequence, utcTime } from '../asn1/der-writer.ts';
import { OID } from '../asn1/oids.ts';
import { PKI_FAILURE, PKI_STATUS, type PkiFailure } from '../tsp/pki-status.ts';
import type { TimeStampRequest } from '../tsp/request.ts';
import { digestData, digestIdentifier } from '../x509/digests.ts';
import { acceptRequest } from './accept-request.ts';
import {
  type Accuracy,
  type Attribute,
  directoryName,
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
import type { SignatureScheme } from './sign.ts';

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
  ordering?: boolean;
  /** Puts the name of the signer into TSTInfo.tsa. */
  includeTsaName?: boolean;
  /** Adds the signingTime attribute (RFC 5652 §11.3). */
  includeSigningTime?: boolean;
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
  const eContent = encodeTstInfo(tstInfoFieldsOf(profile, request, moment));
  const signer = signTstInfo(profile, eContent, moment);
  const token = encodeToken(tokenPartsOf(profile.identity, request.certReq, eContent, signer));
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
    ordering: profile.ordering,
    nonce: request.nonce,
    tsa: profile.includeTsaName ? directoryName(profile.identity.subjectName) : undefined,
  };
}

/** Makes the SignerInfo over the DER of a TSTInfo. */
export function signTstInfo(profile: TsaProfile, eContent: Buffer, moment: Moment): SignerParts {
  return signAttributes(profile.identity, encodeAttributes(signedAttributesOf(profile, eContent, moment)));
}

/** Makes the attributes that RFC 3161 §2.4.2 and RFC 5816 require, and those that the profile adds. */
export function signedAttributesOf(profile: TsaProfile, eContent: Buffer, moment: Moment): readonly Attribute[] {
  const { identity } = profile;
  const attributes: Attribute[] = [
    { type: OID.contentType, values: [objectIdentifier(OID.tstInfo)] },
    { type: OID.messageDigest, values: [octetString(digestData(identity.scheme.digest, eContent))] },
    { type: OID.signingCertificateV2, values: [constantPartsOf(identity).signingCertificate] },
  ];
  if (profile.includeSigningTime) {
    // signingTime is a UTCTime in the years 1950–2049 (RFC 5652 §11.3). It has no fraction of a second.
    attributes.push({ type: OID.signingTime, values: [utcTime(genTimeText(Math.floor(moment.timeMs / 1000) * 1000).slice(2))] });
  }
  return attributes;
}

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
