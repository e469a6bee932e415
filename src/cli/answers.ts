import type { z } from 'zod';
import { stampToken } from '../shared/contract/stamp.ts';
import { verificationResult } from '../shared/contract/verify.ts';

/** Answers of the service as the command takes them: services, and files saved, of version 0.2.0 say nothing of the imprint and give no verdict. */
export const stampAnswer = stampToken.partial({ imprint: true });
export type StampAnswer = z.output<typeof stampAnswer>;

export const verifyAnswer = verificationResult.partial({ imprint: true, verdict: true });
export type VerifyAnswer = z.output<typeof verifyAnswer>;
