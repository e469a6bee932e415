import type { z } from 'zod';
import { stampToken } from '../shared/contract/stamp.ts';
import { verificationResult } from '../shared/contract/verify.ts';

/** A stamp in an answer or in a saved file. Those of version 0.2.0 have no imprint. */
export const stampAnswer = stampToken.partial({ imprint: true });
export type StampAnswer = z.output<typeof stampAnswer>;

/** The service's answer to a verification. Those of version 0.2.0 have no imprint and no verdict. */
export const verifyAnswer = verificationResult.partial({ imprint: true, verdict: true });
export type VerifyAnswer = z.output<typeof verifyAnswer>;
