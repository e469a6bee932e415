/** Faults in a client's TimeStampReq, named as in PKIFailureInfo (RFC 3161 §2.4.2). Workers send them in replies. */
export { REQUEST_FAULTS, type RequestFault } from '../rfc3161/index.ts';
