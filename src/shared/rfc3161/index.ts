/**
 * This library requests, verifies and issues RFC 3161 time-stamps. Its functions take bytes, the time and keys as arguments. It imports only
 * `node:crypto`, and the nodes of a hash tree from `proof/hash-tree.js`, which the browser shares. The folders are in this order: `refusal` → `asn1` → `x509` → `cms` → `tsp` → `ers` → `issue`. A folder imports only
 * earlier folders. Code outside the library imports only this file.
 */

// To write certificates and revocation lists.
export * as der from './asn1/der-writer.ts';
export { OID } from './asn1/oids.ts';
// To remove certificates that were not requested.
export { withoutCertificates } from './cms/signed-data.ts';
// To write, renew and verify evidence records, and to build their hash trees.
export {
  type ArchiveTimeStampParts,
  addTimeStamp,
  encodeEvidenceRecord,
  hashTreeRenewalOf,
  type RenewalHashes,
  renewalImprintOf,
  renewEvidenceRecord,
  timeStampRenewalOf,
} from './ers/encode.ts';
export { buildHashTree, type HashTree, type ReducedHashtree } from './ers/hash-tree.ts';
export { firstTokenOf } from './ers/record.ts';
// To verify a token or an evidence record regardless of trust.
export {
  type EvidenceRecordContext,
  firstTimeStampOf,
  isEvidenceRecord,
  recordAlgorithms,
  verifyByItself,
  verifyEvidence,
  verifyEvidenceRecord,
} from './ers/verify.ts';
export { encodeResponse, genTimeText } from './issue/encode.ts';
// To issue a time-stamp, and to answer without one.
export {
  acceptRequest,
  IdentityError,
  identityOf,
  issueResponse,
  rejectionOf,
  type SigningIdentity,
  type TsaProfile,
} from './issue/issue.ts';
export { SCHEMES, type SignatureScheme } from './issue/sign.ts';
// The codes and sentences for refused tokens.
export { closedSet, REFUSALS, type RefusalCode } from './refusal/codes.ts';
export type { Refused } from './refusal/refusal.ts';
// To request a time-stamp, and to read requests.
export type { MessageImprint } from './tsp/imprint.ts';
export { decodeRequest, encodeRequest, type RequestFields, type TimeStampRequest } from './tsp/request.ts';
export {
  type AnswerSpans,
  answerSpansOf,
  PKI_STATUS,
  type PkiFailure,
  REQUEST_FAULTS,
  type RequestFault,
  requestFaultOf,
} from './tsp/response.ts';
export { tokenIn } from './tsp/token.ts';
// To verify an answer or a token.
export {
  type CertificateIdentity,
  type RecordToken,
  type RefusedToken,
  type ResponseContext,
  type RevocationAnswer,
  type TokenClaims,
  type TokenContext,
  UNCHECKED,
  type Unchecked,
  type Verified,
  type VerifiedEvidenceRecord,
  type VerifiedToken,
  type VerifyResult,
} from './tsp/types.ts';
export { hasQualifiedStatement } from './tsp/verdict.ts';
export { verifyResponse, verifyToken } from './tsp/verify.ts';
// To show certificates, read PEM files, and make trust stores.
export type { Certificate } from './x509/certificate.ts';
export { pemOf } from './x509/certificate.ts';
export { isIssuerOf } from './x509/chain.ts';
export { isCrlOf } from './x509/crl.ts';
export { isSameName, nameText } from './x509/name.ts';
export { isOfCa } from './x509/path-rules.ts';
export { REVOCATION_UNKNOWN } from './x509/revocation.ts';
export {
  certificatesIn,
  createTrustStore,
  type TrustMaterial,
  TrustMaterialError,
  type TrustStore,
  withRevocationLists,
} from './x509/trust-store.ts';
