import { z } from 'zod';

/** `GET /api/v1/workflow/{id}` (W16) as its workflow token shows it. */
export const workflowState = z.looseObject({
  workflow_id: z.string(),
  status: z.string(),
  tier: z.string(),
  created_at: z.string(),
  expires_at: z.string(),
  confirmed_at: z.string().nullable(),
  completed_at: z.string().nullable(),
  output_count: z.int(),
  chain_hash: z.string().nullable(),
  merkle_root: z.string().nullable(),
  verify_url: z.string(),
  agent_id: z.string().optional(),
  user_email: z.string().optional(),
});
export type WorkflowState = z.output<typeof workflowState>;

/** 202 of `POST /api/v1/workflow/{id}/resend` (W6). */
export const workflowResendResponse = z.looseObject({ otp_sent_to: z.string().optional() });
export type WorkflowResendResponse = z.output<typeof workflowResendResponse>;
