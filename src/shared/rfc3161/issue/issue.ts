import type { KeyObject } from 'node:crypto';
import { objectIdentifier, octetString, sequence, setOf, utcTime } from '../asn1/der-writer.ts';
import { OID } from '../asn1/oids.ts';
import {
  type Accuracy,
  type Attribute,
  directoryName,
  encodeAttribute,
  encodeResponse,
  encodeSigningCertificateV2,
  encodeToken,
  encodeTstInfo,
  genTimeText,
  PKI_STATUS,
  type ResponseParts,
  type SignerParts,
  type TokenParts,
  type TstInfoFields,
} from './encode.ts';
import { type IssueRequest, readIssueRequest } from './request.ts';
import { digestData, digestIdentifier, type SignatureScheme } from './sign.ts';

/** A key with its certificate: what a TSA, or a CA, signs with. */
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
  /** DER certificates between this one and the root, nearest first, without the root. */
  chain: readonly Buffer[];
}

export interface TsaProfile {
  identity: SigningIdentity;
  /** Policy OIDs; the first is used when the request names none. */
  policies: readonly [string, ...string[]];
  accuracy?: Accuracy;
  ordering?: boolean;
  /** Put the signer's subject into TSTInfo.tsa. */
  includeTsaName?: boolean;
  /** Add the signingTime attribute (RFC 5652 §11.3). */
  includeSigningTime?: boolean;
}

/** What is different in each answer. */
export interface Moment {
  /** Milliseconds since the epoch. */
  timeMs: number;
  /** Positive and unique for the TSA (RFC 3161 §2.4.2). */
  serial: bigint;
}

/**
 * Where a test bends what is issued, in the order in which the seams are met. Each gets what would have been used and returns what is
 * used instead; what is made later (digests, signature, lengths) follows from it. A TSA in earnest passes none.
 */
export interface Seams {
  /** Before TSTInfo is encoded. */
  fields?(fields: TstInfoFields): TstInfoFields;
  /** The DER of TSTInfo, before it is digested. */
  eContent?(tstInfo: Buffer): Buffer;
  /** Before they are encoded; undefined: the signature covers eContent itself (RFC 5652 §5.4). */
  attributes?(attributes: readonly Attribute[]): readonly Attribute[] | undefined;
  /** The DER SET OF Attribute, before it is signed. */
  signedAttributes?(set: Buffer): Buffer;
  /** After signing. */
  signer?(signer: SignerParts): SignerParts;
  /** Before the token is encoded. */
  token?(parts: TokenParts): TokenParts;
  /** Before the answer is encoded. */
  response?(parts: ResponseParts): ResponseParts;
}

/**
 * A TimeStampResp for the DER of a TimeStampReq (RFC 3161 §2.4): granted with a token, or a rejection with its PKIFailureInfo.
 * Pure: time and serial number are arguments. Throws only when the key cannot sign.
 */
export function issueResponse(profile: TsaProfile, requestDer: Buffer, moment: Moment, seams: Seams = {}): Buffer {
  const read = readIssueRequest(requestDer, profile.policies);
  const parts: ResponseParts = read.ok
    ? { status: PKI_STATUS.granted, token: issueToken(profile, read.request, moment, seams) }
    : { status: PKI_STATUS.rejection, statusText: read.detail, failInfo: [read.failInfo] };
  return encodeResponse(seams.response?.(parts) ?? parts);
}

/** A TimeStampToken (RFC 3161 §2.4.2) as CMS SignedData with one SignerInfo (RFC 5652 §5). */
export function issueToken(profile: TsaProfile, request: IssueRequest, moment: Moment, seams: Seams = {}): Buffer {
  const { identity } = profile;
  const asked = tstInfoFields(profile, request, moment);
  const encoded = encodeTstInfo(seams.fields?.(asked) ?? asked);
  const eContent = seams.eContent?.(encoded) ?? encoded;
  const signer = signTstInfo(profile, eContent, moment, seams);
  const parts: TokenParts = {
    contentType: OID.signedData,
    version: 3, // the content is not id-data (RFC 5652 §5.1)
    digestAlgorithms: [signer.digestAlgorithm],
    eContentType: OID.tstInfo,
    eContent,
    certificates: request.certReq ? [identity.certificate, ...identity.chain] : [],
    crls: [],
    signers: [signer],
  };
  return encodeToken(seams.token?.(parts) ?? parts);
}

function tstInfoFields(profile: TsaProfile, request: IssueRequest, moment: Moment): TstInfoFields {
  return {
    version: 1,
    policy: request.policy ?? profile.policies[0],
    imprint: request.imprint,
    serial: moment.serial,
    genTime: genTimeText(moment.timeMs),
    accuracy: profile.accuracy,
    ordering: profile.ordering,
    nonce: request.nonce,
    tsa: profile.includeTsaName ? directoryName(profile.identity.subjectName) : undefined,
  };
}

/** A SignerInfo over `eContent`. Exported so that a test can put several into one token. */
export function signTstInfo(profile: TsaProfile, eContent: Buffer, moment: Moment, seams: Seams = {}): SignerParts {
  const { identity } = profile;
  const { scheme } = identity;
  const standard = signedAttributes(profile, eContent, moment);
  const attributes = seams.attributes === undefined ? standard : seams.attributes(standard);
  const encoded = attributes === undefined ? undefined : setOf(...attributes.map(encodeAttribute));
  const set = encoded === undefined ? undefined : (seams.signedAttributes?.(encoded) ?? encoded);
  const signer: SignerParts = {
    version: 1, // the sid is an IssuerAndSerialNumber (RFC 5652 §5.3)
    sid: sequence(identity.issuerName, identity.serialNumber),
    digestAlgorithm: digestIdentifier(scheme.digest),
    signedAttributes: set,
    signatureAlgorithm: scheme.cmsAlgorithm,
    signature: scheme.sign(set ?? eContent, identity.privateKey),
  };
  return seams.signer?.(signer) ?? signer;
}

function signedAttributes(profile: TsaProfile, eContent: Buffer, moment: Moment): Attribute[] {
  const { identity } = profile;
  const attributes: Attribute[] = [
    { type: OID.contentType, values: [objectIdentifier(OID.tstInfo)] },
    { type: OID.messageDigest, values: [octetString(digestData(identity.scheme.digest, eContent))] },
    { type: OID.signingCertificateV2, values: [signingCertificateOf(identity)] },
  ];
  if (profile.includeSigningTime) {
    // UTCTime serves the years 1950–2049 (RFC 5652 §11.3), without a fraction.
    attributes.push({ type: OID.signingTime, values: [utcTime(genTimeText(Math.floor(moment.timeMs / 1000) * 1000).slice(2))] });
  }
  return attributes;
}

const signingCertificates = new WeakMap<SigningIdentity, Buffer>();

/** The same for every token of an identity, so made once. */
function signingCertificateOf(identity: SigningIdentity): Buffer {
  let encoded = signingCertificates.get(identity);
  if (encoded === undefined) {
    encoded = encodeSigningCertificateV2(digestData('sha256', identity.certificate), identity.issuerName, identity.serialNumber);
    signingCertificates.set(identity, encoded);
  }
  return encoded;
}
