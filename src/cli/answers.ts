import type { z } from 'zod';
import { stampToken } from '../shared/contract/stamp.ts';
import { verificationResult } from '../shared/contract/verify.ts';

/** A stamp in an answer or in a saved file. Those of older versions have no imprint, or no `qualified`. */
export const stampAnswer = stampToken.partial({ imprint: true, qualified: true });
export type StampAnswer = z.output<typeof stampAnswer>;

/** The service's answer to a verification. Those of older versions have no imprint and no verdict, or no `qualified`. */
export const verifyAnswer = verificationResult.partial({ imprint: true, verdict: true, qualified: true });
export type VerifyAnswer = z.output<typeof verifyAnswer>;
