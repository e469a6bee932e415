import { refuse } from '../refusal/refusal.ts';
import type { TstInfo } from './tst-info.ts';
import { DEFAULT_CLOCK_TOLERANCE_MS, type VerifyContext } from './types.ts';

/** What a token states, against what was asked for and against the clock (RFC 3161 §2.2, §2.4.2). */

/** Refusals 19 and 20; and a nonce that nobody sent is not the answer to this request. */
export function checkNonce(tstInfo: TstInfo, sent: bigint | undefined): void {
  if (sent === undefined && tstInfo.nonce !== undefined) refuse('nonce_unexpected', 'The request had no nonce, the token has one.');
  if (sent === undefined) return;
  if (tstInfo.nonce === undefined) refuse('nonce_missing', 'The request had a nonce, the token has none.');
  if (tstInfo.nonce !== sent) refuse('nonce_mismatch', 'The nonce of the token is another one.');
}

/** Refusal 21. */
export function checkPolicy(tstInfo: TstInfo, asked: string | undefined): void {
  if (asked !== undefined && tstInfo.policy !== asked)
    refuse('policy_mismatch', `The policy is ${tstInfo.policy}, asked for was ${asked}.`);
}

/** Refusal 23, and the accuracy that the context sets. */
export function checkTime(tstInfo: TstInfo, context: VerifyContext): void {
  const { maxAccuracySeconds } = context;
  if (maxAccuracySeconds !== undefined && (tstInfo.accuracy ?? 0n) > BigInt(Math.floor(maxAccuracySeconds * 1e6))) {
    refuse('accuracy_too_coarse', `The accuracy is ${Number(tstInfo.accuracy) / 1e6} s; ${maxAccuracySeconds} s are accepted.`);
  }
  if (tstInfo.genTime.milliseconds > context.nowMs + toleranceMsOf(context)) {
    refuse('gen_time_future', `genTime is ${tstInfo.genTime.text}, and now is ${new Date(context.nowMs).toISOString()}.`);
  }
}

/** Refusal 22: an answer is made while its request is under way, as far as both clocks and the TSA's accuracy can tell. */
export function checkWindow(tstInfo: TstInfo, context: VerifyContext & { readonly sentAtMs: number; readonly receivedAtMs: number }): void {
  const { milliseconds, text } = tstInfo.genTime;
  const marginMs = toleranceMsOf(context) + Number(tstInfo.accuracy ?? 0n) / 1000;
  if (milliseconds < context.sentAtMs - marginMs || milliseconds > context.receivedAtMs + marginMs) {
    refuse('gen_time_outside_window', `genTime is ${text}, and the request was sent at ${new Date(context.sentAtMs).toISOString()}.`);
  }
}

function toleranceMsOf({ clockToleranceMs }: VerifyContext): number {
  return clockToleranceMs ?? DEFAULT_CLOCK_TOLERANCE_MS;
}
