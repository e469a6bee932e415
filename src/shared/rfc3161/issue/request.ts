import { derOf, membersOf, parseDer, TAG } from '../asn1/der.ts';
import { integerOf, oidOf, smallIntegerOf } from '../asn1/der-values.ts';
import { Refusal } from '../refusal/refusal.ts';
import { imprintOf } from '../tsp/imprint.ts';
import { FAIL_INFO } from './encode.ts';

/** What a TSA takes from a TimeStampReq (RFC 3161 §2.4.1). */
export interface IssueRequest {
  /** `algorithm` is the DER AlgorithmIdentifier as it was sent: the token repeats it byte for byte. */
  imprint: { algorithm: Buffer; digest: Buffer };
  policy?: string | undefined;
  nonce?: bigint | undefined;
  certReq: boolean;
}

export type ReadIssueRequest = { ok: true; request: IssueRequest } | { ok: false; failInfo: number; detail: string };

/** A request has about 70 octets. */
const REQUEST_LIMITS = { maxBytes: 4096, maxElements: 64, maxDepth: 8 };

/** A request that is understood and not granted. */
class Rejection extends Error {
  readonly failInfo: number;

  constructor(failInfo: keyof typeof FAIL_INFO, detail: string) {
    super(detail);
    this.failInfo = FAIL_INFO[failInfo];
  }
}

/** Reads the DER of a TimeStampReq, or says with which PKIFailureInfo bit it is rejected (RFC 3161 §2.4.2). Never throws. */
export function readIssueRequest(der: Buffer, policies: readonly string[]): ReadIssueRequest {
  try {
    return { ok: true, request: read(der, policies) };
  } catch (error) {
    if (error instanceof Rejection) return { ok: false, failInfo: error.failInfo, detail: error.message };
    if (error instanceof Refusal) return { ok: false, failInfo: failInfoOf(error), detail: error.message };
    throw error;
  }
}

/** What the common readers refuse, in the words of PKIFailureInfo. */
function failInfoOf(refusal: Refusal): number {
  return refusal.code.startsWith('imprint_algorithm_') ? FAIL_INFO.badAlg : FAIL_INFO.badDataFormat;
}

function read(der: Buffer, policies: readonly string[]): IssueRequest {
  const members = membersOf(parseDer(der, REQUEST_LIMITS), 'TimeStampReq');
  if (smallIntegerOf(members.take(TAG.integer, 'version')) !== 1) throw new Rejection('badRequest', 'Only version 1 requests are known.');
  const messageImprint = members.take(TAG.sequence, 'messageImprint');
  const { digest } = imprintOf(messageImprint);
  const reqPolicy = members.optional(TAG.oid);
  const nonce = members.optional(TAG.integer);
  const certReq = members.optional(TAG.boolean);
  const extensions = members.optional(TAG.contextConstructed(0));
  members.end();

  if (extensions !== undefined) throw new Rejection('unacceptedExtension', 'No request extension is supported.');
  const policy = reqPolicy === undefined ? undefined : oidOf(reqPolicy, 'reqPolicy');
  if (policy !== undefined && !policies.includes(policy)) throw new Rejection('unacceptedPolicy', 'The requested policy is not offered.');
  return {
    imprint: { algorithm: derOf(messageImprint.children[0]!), digest },
    policy,
    nonce: nonce === undefined ? undefined : integerOf(nonce, 'nonce'),
    // Some clients spell out the default FALSE, which DER forbids; it means the same.
    certReq: certReq !== undefined && certReq.source[certReq.content] !== 0,
  };
}
