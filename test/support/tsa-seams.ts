import { utcTime } from '../../src/shared/rfc3161/asn1/der-writer.ts';
import { OID } from '../../src/shared/rfc3161/asn1/oids.ts';
import {
  type Attribute,
  directoryName,
  encodeAttributes,
  encodeResponse,
  encodeToken,
  encodeTstInfo,
  genTimeText,
  type ResponseParts,
  type SignerParts,
  type TokenParts,
  type TstInfoFields,
} from '../../src/shared/rfc3161/issue/encode.ts';
import {
  acceptRequest,
  type Moment,
  rejectionOf,
  signAttributes,
  signedAttributesOf,
  type TsaProfile,
  tokenPartsOf,
  tstInfoFieldsOf,
} from '../../src/shared/rfc3161/issue/issue.ts';
import type { TimeStampRequest } from '../../src/shared/rfc3161/tsp/request.ts';
import { PKI_STATUS } from '../../src/shared/rfc3161/tsp/response.ts';

/**
 * The places where a faulty answer of the development TSA differs from a correct answer, in order of use. Each function gets the correct value and
 * returns the value to use instead. Later parts (digests, signature, lengths) are computed from the new value.
 */
export interface Seams {
  /** Changes the fields of TSTInfo before they are encoded. */
  fields?(fields: TstInfoFields): TstInfoFields;
  /** Changes the DER of TSTInfo before it is hashed. */
  eContent?(tstInfo: Buffer): Buffer;
  /** Changes the signed attributes before they are encoded. If it returns undefined, the signature covers eContent itself (RFC 5652 §5.4). */
  attributes?(attributes: readonly Attribute[]): readonly Attribute[] | undefined;
  /** Changes the DER of the signed attributes before it is signed. */
  signedAttributes?(set: Buffer): Buffer;
  /** Changes the signer's part of the token after signing. */
  signer?(signer: SignerParts): SignerParts;
  /** Changes the parts of the token before it is encoded. */
  token?(parts: TokenParts): TokenParts;
  /** Changes the parts of the answer before it is encoded. */
  response?(parts: ResponseParts): ResponseParts;
}

/** A TSA whose correct answers have more than ours. */
export interface LabProfile extends TsaProfile {
  ordering?: boolean;
  /** Puts the name of the signer into TSTInfo.tsa. */
  includeTsaName?: boolean;
  /** Adds the signingTime attribute (RFC 5652 §11.3). */
  includeSigningTime?: boolean;
}

/** Like `issueResponse`, but with the changes of the seams. */
export function issueResponseWith(seams: Seams, profile: LabProfile, requestDer: Buffer, moment: Moment): Buffer {
  const accepted = acceptRequest(requestDer, profile.policies);
  const parts: ResponseParts = accepted.ok
    ? { status: PKI_STATUS.granted, token: issueTokenWith(seams, profile, accepted.request, moment) }
    : rejectionOf(accepted.failure, accepted.detail);
  return encodeResponse(seams.response?.(parts) ?? parts);
}

function issueTokenWith(seams: Seams, profile: LabProfile, request: TimeStampRequest, moment: Moment): Buffer {
  const { identity, ordering, includeTsaName } = profile;
  const tsa = includeTsaName ? directoryName(identity.subjectName) : undefined;
  const fields = { ...tstInfoFieldsOf(profile, request, moment), ordering, tsa };
  const tstInfo = encodeTstInfo(seams.fields?.(fields) ?? fields);
  const eContent = seams.eContent?.(tstInfo) ?? tstInfo;
  const signed = signTstInfoWith(seams, profile, eContent, moment);
  const signer = seams.signer?.(signed) ?? signed;
  const parts = tokenPartsOf(identity, request.certReq, eContent, signer);
  return encodeToken(seams.token?.(parts) ?? parts);
}

function signTstInfoWith(seams: Seams, profile: LabProfile, eContent: Buffer, moment: Moment): SignerParts {
  const { identity } = profile;
  // signingTime is a UTCTime in the years 1950–2049. It has no fraction of a second.
  const signingTime = utcTime(genTimeText(Math.floor(moment.timeMs / 1000) * 1000).slice(2));
  const more = profile.includeSigningTime ? [{ type: OID.signingTime, values: [signingTime] }] : [];
  const standard = [...signedAttributesOf(identity, eContent), ...more];
  const attributes = seams.attributes === undefined ? standard : seams.attributes(standard);
  if (attributes === undefined) return { ...signAttributes(identity, eContent), signedAttributes: undefined };
  const set = encodeAttributes(attributes);
  return signAttributes(identity, seams.signedAttributes?.(set) ?? set);
}
