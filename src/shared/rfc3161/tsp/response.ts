import { contentsOf, type Der, membersOf, parseDer, TAG } from '../asn1/der.ts';
import { namedBitsOf, smallIntegerOf } from '../asn1/der-values.ts';
import type { RefusalCode } from '../refusal/codes.ts';
import { Refusal, refuse } from '../refusal/refusal.ts';

/** This module reads a TSA's answer: the numbers of its status, and the token in it (RFC 3161 §2.4.2). */

/** The values of PKIStatus. */
export const PKI_STATUS = {
  granted: 0,
  grantedWithMods: 1,
  rejection: 2,
  waiting: 3,
  revocationWarning: 4,
  revocationNotification: 5,
} as const;

/** The numbers of the bits in PKIFailureInfo. */
export const PKI_FAILURE = {
  badAlg: 0,
  badRequest: 2,
  badDataFormat: 5,
  timeNotAvailable: 14,
  unacceptedPolicy: 15,
  unacceptedExtension: 16,
  addInfoNotAvailable: 17,
  systemFailure: 25,
} as const;

export type PkiFailure = keyof typeof PKI_FAILURE;

/** The failures that are a fault of the request, not of the TSA. */
export const REQUEST_FAULTS = ['badAlg', 'badRequest', 'badDataFormat', 'unacceptedPolicy', 'unacceptedExtension'] as const;
export type RequestFault = (typeof REQUEST_FAULTS)[number];

const nameIn = (table: Readonly<Record<string, number>>, number: number): string | undefined =>
  Object.keys(table).find((name) => table[name] === number);

export const statusName = (status: number): string => nameIn(PKI_STATUS, status) ?? 'unknown';

export const failureName = (bit: number): string => nameIn(PKI_FAILURE, bit) ?? `bit ${bit}`;

/** Returns the PKIFailureInfo for a request that cannot be read. `code`: why it was refused. */
export function failureOf(code: RefusalCode): PkiFailure {
  return code.startsWith('imprint_algorithm_') ? 'badAlg' : 'badDataFormat';
}

interface GrantedToken {
  /** The ContentInfo of the token. */
  readonly token: Der;
  readonly grantedWithMods: boolean;
}

/** Returns the token in an answer, and refuses an answer that does not grant one (refusals 1–4). */
export function grantedTokenOf(element: Der, acceptGrantedWithMods: boolean): GrantedToken {
  const members = membersOf(element, 'TimeStampResp');
  const { status, explain, failures } = statusOf(members.take(TAG.sequence, 'status'));
  const token = members.optional(TAG.sequence);
  members.end();
  if (status !== PKI_STATUS.granted && status !== PKI_STATUS.grantedWithMods) {
    if (token !== undefined) refuse('token_not_granted', `The status is ${explain()}, but there is a token.`);
    refuse('not_granted', `The status is ${explain()}.`);
  }
  if (token === undefined) refuse('token_missing', `The status is ${explain()}, but there is no token.`);
  if (failures.length > 0) refuse('status_contradictory', `The status is ${explain()}, but there is a token.`);
  const grantedWithMods = status === PKI_STATUS.grantedWithMods;
  if (grantedWithMods && !acceptGrantedWithMods) refuse('granted_with_mods', `The status is ${explain()}.`);
  return { token, grantedWithMods };
}

/**
 * Returns the fault that the TSA found in a request (PKIFailureInfo), or undefined if the answer names no fault of the request. Never throws, whatever
 * the bytes are.
 */
export function requestFaultOf(response: Uint8Array): RequestFault | undefined {
  try {
    const { failures } = statusOf(membersOf(parseDer(response), 'TimeStampResp').take(TAG.sequence, 'status'));
    return REQUEST_FAULTS.find((fault) => failures.includes(fault));
  } catch (error) {
    if (error instanceof Refusal) return undefined;
    throw error;
  }
}

/** The maximum number of texts from a TSA that are quoted. */
const MAX_STATUS_TEXTS = 8;

/** Reads a PKIStatusInfo with its texts. A failInfo in which no bit is set says the same as none. */
function statusOf(element: Der): { status: number; explain: () => string; failures: readonly string[] } {
  const members = membersOf(element, 'PKIStatusInfo');
  const status = smallIntegerOf(members.take(TAG.integer, 'status'));
  const freeText = members.optional(TAG.sequence);
  const failInfo = members.optional(TAG.bitString);
  members.end();
  const texts = (freeText?.children ?? []).slice(0, MAX_STATUS_TEXTS).map((child) => {
    if (child.tag !== TAG.utf8String) refuse('der_malformed', 'statusString is not a UTF8String.');
    // The text is untrusted, so it is quoted. Then it cannot look like our own text.
    return JSON.stringify(contentsOf(child).toString('utf8').slice(0, 200));
  });
  const failures = failInfo === undefined ? [] : [...namedBitsOf(failInfo, 'failInfo')].map(failureName);
  return { status, explain: () => [`${statusName(status)} (${status})`, ...failures, ...texts].join(', '), failures };
}

/** A range of octets, from `start` up to, but not including, `end`. */
interface Span {
  readonly start: number;
  readonly end: number;
}

/** Positions in the DER of a TimeStampResp (RFC 3161 §2.4.2). */
export interface AnswerSpans {
  /** The TimeStampToken. */
  readonly token: Span;
  /** The certificates in the SignedData of the token, including their tag (RFC 5652 §5.1). Undefined if there are none. */
  readonly certificates: Span | undefined;
}

/** Finds token and certificates in a TimeStampResp. Returns undefined if it has no token. Verifies nothing. Never throws, whatever the bytes are. */
export function answerSpansOf(response: Uint8Array): AnswerSpans | undefined {
  try {
    const [, token] = parseDer(response).children;
    const signedData = token?.children[1]?.children[0];
    if (!token || !signedData) return undefined;
    const certificates = signedData.children.find(({ tag }) => tag === TAG.contextConstructed(0));
    return { token: spanOf(token), certificates: certificates && spanOf(certificates) };
  } catch (error) {
    if (error instanceof Refusal) return undefined;
    throw error;
  }
}

const spanOf = ({ start, end }: Der): Span => ({ start, end });
