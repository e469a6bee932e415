import type { z } from 'zod';
import { stampToken } from '../shared/contract/stamp.ts';
import { verificationResult } from '../shared/contract/verify.ts';

/** Answers of the service that the command accepts: those of version 0.2.0, also in saved files, have no imprint and no verdict. */
export const stampAnswer = stampToken.partial({ imprint: true });
export type StampAnswer = z.output<typeof stampAnswer>;

export const verifyAnswer = verificationResult.partial({ imprint: true, verdict: true });
export type VerifyAnswer = z.output<typeof verifyAnswer>;
