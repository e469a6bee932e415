import { contentsOf, type Der, membersOf, TAG } from '../asn1/der.ts';
import { namedBitsOf, smallIntegerOf } from '../asn1/der-values.ts';
import { refuse } from '../refusal/refusal.ts';

/** TimeStampResp (RFC 3161 §2.4.2). */

const STATUS_NAMES = ['granted', 'grantedWithMods', 'rejection', 'waiting', 'revocationWarning', 'revocationNotification'] as const;

const FAILURE_NAMES: Readonly<Record<number, string>> = {
  0: 'badAlg',
  2: 'badRequest',
  5: 'badDataFormat',
  14: 'timeNotAvailable',
  15: 'unacceptedPolicy',
  16: 'unacceptedExtension',
  17: 'addInfoNotAvailable',
  25: 'systemFailure',
};

export interface GrantedToken {
  /** ContentInfo. */
  readonly token: Der;
  readonly grantedWithMods: boolean;
}

/** The token of an answer that grants one (refusals 1–4). */
export function grantedTokenOf(element: Der, acceptGrantedWithMods: boolean): GrantedToken {
  const members = membersOf(element, 'TimeStampResp');
  const { status, explanation, hasFailure } = statusOf(members.take(TAG.sequence, 'status'));
  const token = members.optional(TAG.sequence);
  members.end();
  if (status !== 0 && status !== 1) {
    if (token !== undefined) refuse('token_not_granted', `The status is ${explanation}, and yet there is a token.`);
    refuse('not_granted', `The status is ${explanation}.`);
  }
  if (token === undefined) refuse('token_missing', `The status is ${explanation}, but there is no token.`);
  if (hasFailure) refuse('status_contradictory', `The status is ${explanation}, and yet there is a token.`);
  if (status === 1 && !acceptGrantedWithMods) refuse('granted_with_mods', `The status is ${explanation}.`);
  return { token, grantedWithMods: status === 1 };
}

/** PKIStatusInfo, with everything it says in words. */
function statusOf(element: Der): { status: number; explanation: string; hasFailure: boolean } {
  const members = membersOf(element, 'PKIStatusInfo');
  const status = smallIntegerOf(members.take(TAG.integer, 'status'));
  const freeText = members.optional(TAG.sequence);
  const failInfo = members.optional(TAG.bitString);
  members.end();
  const texts = (freeText?.children ?? []).map((child) => {
    if (child.tag !== TAG.utf8String) refuse('der_malformed', 'statusString is not a UTF8String.');
    // A stranger's words: quoted, so that they cannot be taken for ours.
    return JSON.stringify(contentsOf(child).toString('utf8').slice(0, 200));
  });
  const failures = failInfo === undefined ? [] : [...namedBitsOf(failInfo, 'failInfo')].map((bit) => FAILURE_NAMES[bit] ?? `bit ${bit}`);
  return {
    status,
    explanation: [`${STATUS_NAMES[status] ?? 'unknown'} (${status})`, ...failures, ...texts].join(', '),
    hasFailure: failInfo !== undefined,
  };
}
