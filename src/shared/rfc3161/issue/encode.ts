import {
  boolean,
  contextConstructed,
  generalizedTime,
  integer,
  namedBits,
  objectIdentifier,
  octetString,
  retag,
  sequence,
  setOf,
  utf8String,
} from '../asn1/der-writer.ts';

/** This module describes the structures of a time-stamp answer as plain data, and writes them in DER. It does not check the data. */

/** The accuracy of a time (RFC 3161 §2.4.2). */
export interface Accuracy {
  seconds?: number;
  /** 1–999. */
  millis?: number;
  /** 1–999. */
  micros?: number;
}

/** The fields of a TSTInfo (RFC 3161 §2.4.2). */
export interface TstInfoFields {
  version: number;
  policy: string;
  /** `algorithmDer` is an AlgorithmIdentifier. */
  imprint: { algorithmDer: Buffer; digest: Buffer };
  serial: bigint;
  /** The text of the GeneralizedTime (`genTimeText`). */
  genTime: string;
  accuracy?: Accuracy | undefined;
  ordering?: boolean | undefined;
  nonce?: bigint | undefined;
  /** DER GeneralName. */
  tsa?: Buffer | undefined;
  /** Each is a DER Extension. */
  extensions?: readonly Buffer[] | undefined;
}

/** An Attribute (RFC 5652 §5.3). `values` are DER. */
export interface Attribute {
  type: string;
  values: readonly Buffer[];
}

/** The parts of a SignerInfo (RFC 5652 §5.3). */
export interface SignerParts {
  version: number;
  /** DER IssuerAndSerialNumber, or `[0]` SubjectKeyIdentifier. */
  sid: Buffer;
  digestAlgorithm: Buffer;
  /** DER SET OF Attribute. */
  signedAttributes: Buffer | undefined;
  signatureAlgorithm: Buffer;
  signature: Buffer;
  unsignedAttributes?: readonly Attribute[] | undefined;
}

/** The parts of a ContentInfo with SignedData (RFC 5652 §3 and §5.1). */
export interface TokenParts {
  contentType: string;
  version: number;
  digestAlgorithms: readonly Buffer[];
  eContentType: string;
  /** DER TSTInfo. Undefined: the token does not contain it (detached signature). */
  eContent: Buffer | undefined;
  certificates: readonly Buffer[];
  crls: readonly Buffer[];
  signers: readonly SignerParts[];
}

/** The parts of a TimeStampResp (RFC 3161 §2.4.2). */
export interface ResponseParts {
  /** One of `PKI_STATUS`. */
  status: number;
  statusText?: string | undefined;
  /** Numbers of bits, from `PKI_FAILURE`. */
  failInfo?: readonly number[] | undefined;
  token?: Buffer | undefined;
}

/** Returns the text of a GeneralizedTime for milliseconds since the epoch, without trailing zeros (RFC 3161 §2.4.2, X.690 §11.7). */
export function genTimeText(timeMs: number): string {
  const text = new Date(timeMs).toISOString();
  const part = (from: number, to: number) => text.slice(from, to);
  const seconds = `${part(0, 4)}${part(5, 7)}${part(8, 10)}${part(11, 13)}${part(14, 16)}${part(17, 19)}`;
  const digits = part(20, 23).replace(/0+$/, '');
  return `${seconds}${digits === '' ? '' : `.${digits}`}Z`;
}

export function encodeTstInfo(fields: TstInfoFields): Buffer {
  return sequence(
    integer(fields.version),
    objectIdentifier(fields.policy),
    sequence(fields.imprint.algorithmDer, octetString(fields.imprint.digest)),
    integer(fields.serial),
    generalizedTime(fields.genTime),
    ...(fields.accuracy === undefined ? [] : [encodeAccuracy(fields.accuracy)]),
    // FALSE is the default, so it is not encoded (X.690 §11.5).
    ...(fields.ordering ? [boolean(true)] : []),
    ...(fields.nonce === undefined ? [] : [integer(fields.nonce)]),
    ...(fields.tsa === undefined ? [] : [contextConstructed(0, fields.tsa)]),
    ...(fields.extensions === undefined ? [] : [contextConstructed(1, ...fields.extensions)]),
  );
}

function encodeAccuracy(accuracy: Accuracy): Buffer {
  return sequence(
    ...(accuracy.seconds === undefined ? [] : [integer(accuracy.seconds)]),
    ...(accuracy.millis === undefined ? [] : [retag(0x80, integer(accuracy.millis))]),
    ...(accuracy.micros === undefined ? [] : [retag(0x81, integer(accuracy.micros))]),
  );
}

/** Writes a SET OF Attribute. */
export function encodeAttributes(attributes: readonly Attribute[]): Buffer {
  return setOf(...attributes.map(({ type, values }) => sequence(objectIdentifier(type), setOf(...values))));
}

function encodeSigner(signer: SignerParts): Buffer {
  return sequence(
    integer(signer.version),
    signer.sid,
    signer.digestAlgorithm,
    // The signature covers the attributes with the tag of a SET, but the message has `[0] IMPLICIT` instead (RFC 5652 §5.4).
    ...(signer.signedAttributes === undefined ? [] : [retag(0xa0, signer.signedAttributes)]),
    signer.signatureAlgorithm,
    octetString(signer.signature),
    ...(signer.unsignedAttributes === undefined ? [] : [retag(0xa1, encodeAttributes(signer.unsignedAttributes))]),
  );
}

export function encodeToken(parts: TokenParts): Buffer {
  const signedData = sequence(
    integer(parts.version),
    setOf(...parts.digestAlgorithms),
    sequence(
      objectIdentifier(parts.eContentType),
      ...(parts.eContent === undefined ? [] : [contextConstructed(0, octetString(parts.eContent))]),
    ),
    ...(parts.certificates.length === 0 ? [] : [contextConstructed(0, ...parts.certificates)]),
    ...(parts.crls.length === 0 ? [] : [contextConstructed(1, ...parts.crls)]),
    setOf(...parts.signers.map(encodeSigner)),
  );
  return sequence(objectIdentifier(parts.contentType), contextConstructed(0, signedData));
}

export function encodeResponse(parts: ResponseParts): Buffer {
  const statusInfo = sequence(
    integer(parts.status),
    ...(parts.statusText === undefined ? [] : [sequence(utf8String(parts.statusText))]),
    ...(parts.failInfo === undefined ? [] : [namedBits(...parts.failInfo)]),
  );
  return sequence(statusInfo, ...(parts.token === undefined ? [] : [parts.token]));
}

/** Writes a SigningCertificateV2 with one ESSCertIDv2 (RFC 5816, RFC 5035 §4). SHA-256 is the default, so leave out `hashAlgorithm` for it. */
export function encodeSigningCertificateV2(
  certificateHash: Buffer,
  issuerName: Buffer,
  serialNumber: Buffer,
  hashAlgorithm?: Buffer,
): Buffer {
  const issuerSerial = sequence(sequence(directoryName(issuerName)), serialNumber);
  return sequence(sequence(sequence(...(hashAlgorithm === undefined ? [] : [hashAlgorithm]), octetString(certificateHash), issuerSerial)));
}

/** Writes a GeneralName with a DER Name. The tag `[4]` is EXPLICIT, because Name is a CHOICE (RFC 5280 §4.2.1.6). */
export function directoryName(name: Buffer): Buffer {
  return contextConstructed(4, name);
}
