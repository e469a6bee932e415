import { idempotencyHeaders } from '../../shared/contract/parameters.ts';
import {
  acceptedOutput,
  outputHeaders,
  workflowCompleteResponse,
  workflowIdPath,
  workflowRedactResponse,
  workflowResendResponse,
  workflowStampRequest,
  workflowStampResponse,
  workflowStartRequest,
  workflowStartResponse,
  workflowStateResponse,
} from '../../shared/contract/workflow.ts';
import { acceptedHeaders, json, type OperationContract } from '../http/operation.ts';

const tag = 'Workflow';
const replayed = { 'Idempotent-Replayed': '`true` if an earlier request with the same Idempotency-Key got this answer.' };
/** Errors that every operation on a workflow may have. */
const commonErrors = ['rate_limited', 'not_found', 'store_unavailable'] as const;
/** Errors of every operation that changes an open workflow. */
const errorsOfOpenWorkflow = [...commonErrors, 'conflict', 'idempotency_key_reused', 'gone'] as const;

export const startContract = {
  tag,
  id: 'startWorkflow',
  summary: 'Start a workflow and mail a link that confirms the e-mail address',
  // Only a caller that sets `callback_url` needs a service token.
  authentication: 'service',
  isTokenOptional: true,
  headers: idempotencyHeaders,
  body: workflowStartRequest,
  answers: { 201: json('The workflow. Only this answer contains its token.', workflowStartResponse, replayed) },
  errors: [
    'rate_limited',
    'recipient_limited',
    'recipient_blocked',
    'idempotency_key_reused',
    'mail_unavailable',
    'queue_unavailable',
    'store_unavailable',
    'overloaded',
    'mail_pending',
  ],
} satisfies OperationContract;

export const stampContract = {
  tag,
  id: 'stampWorkflowOutput',
  summary: 'Stamp an output',
  description: 'Outputs are numbered 1, 2, 3 … without a gap.',
  authentication: 'workflow',
  path: workflowIdPath,
  headers: outputHeaders,
  body: workflowStampRequest,
  answers: {
    201: json('The output with its number.', workflowStampResponse, replayed),
    202: json('Accepted, if the client prefers not to wait (`Prefer: respond-async`).', acceptedOutput, acceptedHeaders),
  },
  errors: [...errorsOfOpenWorkflow, 'provider_failed', 'tier_unavailable', 'queue_unavailable', 'overloaded', 'stamp_pending'],
} satisfies OperationContract;

export const stateContract = {
  tag,
  id: 'readWorkflow',
  summary: 'The state of a workflow',
  description:
    'With the workflow token (`Authorization: Workflow …`) the answer includes private facts; without it only the facts on the page. ' +
    'The state is as recorded and not verified; the page verifies it.',
  authentication: 'workflow',
  isTokenOptional: true,
  path: workflowIdPath,
  answers: { 200: json('The state.', workflowStateResponse) },
  errors: [...commonErrors, 'unauthorized'],
} satisfies OperationContract;

export const resendContract = {
  tag,
  id: 'resendWorkflowLink',
  summary: 'Mail a new link; the old one ends',
  description:
    'Works until the e-mail address is confirmed, even if the old link has expired or was tried too often. At most three an hour.',
  authentication: 'workflow',
  path: workflowIdPath,
  headers: idempotencyHeaders,
  answers: { 202: json('The mail is queued.', workflowResendResponse, replayed) },
  errors: [...errorsOfOpenWorkflow, 'recipient_limited', 'recipient_blocked', 'mail_unavailable', 'queue_unavailable', 'mail_pending'],
} satisfies OperationContract;

export const completeContract = {
  tag,
  id: 'completeWorkflow',
  summary: 'Close the workflow under a stamped Merkle root',
  description:
    'The service verifies the stamps that closed the workflow for each answer. If they do not verify, the answer is 500. A client who has ' +
    'confirmed his address gets a mail with links to the page and to the evidence.',
  authentication: 'workflow',
  path: workflowIdPath,
  headers: idempotencyHeaders,
  answers: { 200: json('The closed workflow. A repeated request gets the same answer.', workflowCompleteResponse, replayed) },
  errors: [
    ...commonErrors,
    'conflict',
    'gone',
    'provider_failed',
    'tier_unavailable',
    'queue_unavailable',
    'overloaded',
    'completion_pending',
  ],
} satisfies OperationContract;

export const redactContract = {
  tag,
  id: 'redactWorkflow',
  summary: 'Remove the e-mail address (GDPR Article 17)',
  description: 'Hashes, stamps and the chain of outputs remain, and every proof still verifies.',
  authentication: 'workflow',
  path: workflowIdPath,
  headers: idempotencyHeaders,
  answers: { 200: json('The address is removed everywhere. A repeated request gets the same answer.', workflowRedactResponse, replayed) },
  errors: [...commonErrors, 'queue_unavailable'],
} satisfies OperationContract;
