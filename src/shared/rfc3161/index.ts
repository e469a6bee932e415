/**
 * RFC 3161 time-stamps: requesting, verifying and issuing them. This library is self-contained: pure functions over bytes, which take the time and
 * the keys as arguments and import only `node:crypto`. Each folder imports only those before it: `refusal` → `asn1` → `x509` → `cms` → `tsp` →
 * `ers` → `issue`, and none imports `issue`. Everything else is private.
 */

// For writing certificates and revocation lists.
export * as der from './asn1/der-writer.ts';
export { OID } from './asn1/oids.ts';
// For removing certificates that were not requested.
export { withoutCertificates } from './cms/signed-data.ts';
// For verifying a token or any other proof of time.
export { verifyByItself } from './ers/by-itself.ts';
// For writing evidence records and their hash trees, and renewing them.
export {
  type ArchiveTimeStampParts,
  addTimeStamp,
  encodeEvidenceRecord,
  hashTreeRenewalOf,
  type Renewal,
  timeStampRenewalOf,
} from './ers/encode.ts';
export { buildHashTree, type HashTree, type ReducedHashtree } from './ers/hash-tree.ts';
export { firstTokenOf } from './ers/record.ts';
export { renewalImprintOf, renewEvidenceRecord } from './ers/renew.ts';
export {
  type EvidenceContext,
  type EvidenceRecordContext,
  firstTimeStampOf,
  isEvidenceRecord,
  recordAlgorithms,
  verifyEvidence,
  verifyEvidenceRecord,
} from './ers/verify.ts';
// For issuing a time-stamp: the steps of `issueResponse` with plain data, so that a test TSA can fail at one of them.
export { acceptRequest } from './issue/accept-request.ts';
export {
  type Attribute,
  encodeAttributes,
  encodeResponse,
  encodeToken,
  encodeTstInfo,
  genTimeText,
  type ResponseParts,
  type SignerParts,
  type TokenParts,
  type TstInfoFields,
} from './issue/encode.ts';
export { IdentityError, identityOf } from './issue/identity.ts';
export {
  issueResponse,
  type Moment,
  rejectionOf,
  type SigningIdentity,
  signAttributes,
  signedAttributesOf,
  type TsaProfile,
  tokenPartsOf,
  tstInfoFieldsOf,
} from './issue/issue.ts';
export { SCHEMES, type SignatureScheme } from './issue/sign.ts';
// Why something was refused.
export { closedSet, REFUSALS, type RefusalCode } from './refusal/codes.ts';
export type { Refused } from './refusal/refusal.ts';
export { type AnswerSpans, answerSpansOf } from './tsp/answer-spans.ts';
// For requesting a time-stamp, and reading requests.
export type { Imprint } from './tsp/imprint.ts';
export { PKI_FAILURE, PKI_STATUS, type PkiFailure, REQUEST_FAULTS, type RequestFault } from './tsp/pki-status.ts';
export { decodeRequest, encodeRequest, type RequestFields, type TimeStampRequest } from './tsp/request.ts';
export { requestFaultOf } from './tsp/response.ts';
export { tokenIn } from './tsp/token.ts';
// For verifying an answer or a token.
export {
  type CertificateIdentity,
  type RecordToken,
  type ResponseContext,
  type RevocationAnswer,
  type TokenContext,
  UNCHECKED,
  type Unchecked,
  type Verified,
  type VerifiedEvidenceRecord,
  type VerifyResult,
} from './tsp/types.ts';
export { verifyResponse, verifyToken } from './tsp/verify.ts';
// For showing certificates, and whether a revocation list covers them.
export type { Certificate } from './x509/certificate.ts';
export { isCrlOf } from './x509/crl.ts';
export { isSameName, nameText } from './x509/name.ts';
export { pemOf } from './x509/pem.ts';
export { REVOCATION_UNKNOWN } from './x509/revocation.ts';
export { certificatesIn, createTrustStore, type TrustMaterial, TrustMaterialError, type TrustStore } from './x509/trust-store.ts';
