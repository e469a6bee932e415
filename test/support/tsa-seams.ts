import {
  type Attribute,
  encodeAttributes,
  encodeResponse,
  encodeToken,
  encodeTstInfo,
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

/** Like `issueResponse`, but with the changes of the seams. */
export function issueResponseWith(seams: Seams, profile: TsaProfile, requestDer: Buffer, moment: Moment): Buffer {
  const accepted = acceptRequest(requestDer, profile.policies);
  const parts: ResponseParts = accepted.ok
    ? { status: PKI_STATUS.granted, token: issueTokenWith(seams, profile, accepted.request, moment) }
    : rejectionOf(accepted.failure, accepted.detail);
  return encodeResponse(seams.response?.(parts) ?? parts);
}

function issueTokenWith(seams: Seams, profile: TsaProfile, request: TimeStampRequest, moment: Moment): Buffer {
  const { identity } = profile;
  const fields = tstInfoFieldsOf(profile, request, moment);
  const tstInfo = encodeTstInfo(seams.fields?.(fields) ?? fields);
  const eContent = seams.eContent?.(tstInfo) ?? tstInfo;
  const signed = signTstInfoWith(seams, profile, eContent, moment);
  const signer = seams.signer?.(signed) ?? signed;
  const parts = tokenPartsOf(identity, request.certReq, eContent, signer);
  return encodeToken(seams.token?.(parts) ?? parts);
}

function signTstInfoWith(seams: Seams, profile: TsaProfile, eContent: Buffer, moment: Moment): SignerParts {
  const { identity } = profile;
  const standard = signedAttributesOf(profile, eContent, moment);
  const attributes = seams.attributes === undefined ? standard : seams.attributes(standard);
  if (attributes === undefined) return { ...signAttributes(identity, eContent), signedAttributes: undefined };
  const set = encodeAttributes(attributes);
  return signAttributes(identity, seams.signedAttributes?.(set) ?? set);
}
