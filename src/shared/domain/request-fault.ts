/** What is wrong with a client's TimeStampReq, in the words of PKIFailureInfo (RFC 3161 §2.4.2): it travels in replies of workers. */
export { REQUEST_FAULTS, type RequestFault } from '../rfc3161/index.ts';
