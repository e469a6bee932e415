import { contentsOf, type Der, parseDer } from '../asn1/der.ts';
import { namedBitsOf, smallIntegerOf } from '../asn1/der-values.ts';
import { membersOf } from '../asn1/members.ts';
import { TAG } from '../asn1/tags.ts';
import { Refusal, refuse } from '../refusal/refusal.ts';
import { failureName, PKI_STATUS, REQUEST_FAULTS, type RequestFault, statusName } from './pki-status.ts';

/** This module reads a TimeStampResp (RFC 3161 §2.4.2). */

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
