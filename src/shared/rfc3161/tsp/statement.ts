import { refuse } from '../refusal/refusal.ts';
import type { TstInfo } from './tst-info.ts';
import { DEFAULT_CLOCK_TOLERANCE_MS, type VerifyContext } from './types.ts';

/** This module compares the statements of a token with the request and the clock (RFC 3161 §2.2, §2.4.2). */

/** Checks the nonce (refusals 19 and 20). A token with a nonce is not an answer to a request without a nonce. */
export function checkNonce(tstInfo: TstInfo, sent: bigint | undefined): void {
  if (sent === undefined && tstInfo.nonce !== undefined) refuse('nonce_unexpected', 'The request had no nonce, the token has one.');
  if (sent === undefined) return;
  if (tstInfo.nonce === undefined) refuse('nonce_missing', 'The request had a nonce, the token has none.');
  if (tstInfo.nonce !== sent) refuse('nonce_mismatch', 'The nonce of the token is different.');
}

/** Checks that the policy is the one that the request asked for (refusal 21). */
export function checkPolicy(tstInfo: TstInfo, asked: string | undefined): void {
  if (asked !== undefined && tstInfo.policy !== asked)
    refuse('policy_mismatch', `The policy is ${tstInfo.policy}; the request asked for ${asked}.`);
}

/** Checks that genTime is not in the future (refusal 23), and that the accuracy is good enough for the context. */
export function checkTime(tstInfo: TstInfo, context: VerifyContext): void {
  const { maxAccuracySeconds } = context;
  const accuracySeconds = accuracySecondsOf(tstInfo, context);
  if (maxAccuracySeconds !== undefined && (accuracySeconds === undefined || accuracySeconds > maxAccuracySeconds)) {
    const found = accuracySeconds === undefined ? 'not stated' : `${accuracySeconds} s`;
    refuse('accuracy_too_coarse', `The accuracy is ${found}; ${maxAccuracySeconds} s are accepted.`);
  }
  if (tstInfo.genTime.milliseconds > context.nowMs + toleranceMsOf(context)) {
    refuse('gen_time_future', `genTime is ${tstInfo.genTime.text}, and now is ${new Date(context.nowMs).toISOString()}.`);
  }
}

function accuracySecondsOf({ accuracy }: TstInfo, { policyAccuracySeconds }: VerifyContext): number | undefined {
  return accuracy === undefined ? policyAccuracySeconds : Number(accuracy) / 1e6;
}

/** A stated accuracy counts only up to this limit, because a TSA whose time is wrong by more than a minute has a wrong clock. */
const MAX_ACCURACY_MARGIN_SECONDS = 60;

/** Checks that genTime is between request and receipt (refusal 22). The clock tolerance and the TSA's accuracy extend this window on both sides. */
export function checkWindow(tstInfo: TstInfo, context: VerifyContext & { readonly sentAtMs: number; readonly receivedAtMs: number }): void {
  const { milliseconds, text } = tstInfo.genTime;
  const accuracySeconds = Math.min(accuracySecondsOf(tstInfo, context) ?? 0, MAX_ACCURACY_MARGIN_SECONDS);
  const marginMs = toleranceMsOf(context) + accuracySeconds * 1000;
  if (milliseconds < context.sentAtMs - marginMs || milliseconds > context.receivedAtMs + marginMs) {
    refuse('gen_time_outside_window', `genTime is ${text}, and the request was sent at ${new Date(context.sentAtMs).toISOString()}.`);
  }
}

function toleranceMsOf({ clockToleranceMs }: VerifyContext): number {
  return clockToleranceMs ?? DEFAULT_CLOCK_TOLERANCE_MS;
}
