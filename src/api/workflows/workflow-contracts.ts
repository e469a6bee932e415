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
import { acceptedHeaders, json, type OperationContract } from '../server/operation.ts';

const tag = 'Workflow';
const replayed = { 'Idempotent-Replayed': '`true` where an earlier request with the same Idempotency-Key was answered so.' };
/** What each operation on one workflow may be refused with, whatever it does (E5, E10). */
const commonErrors = ['rate_limited', 'not_found', 'store_unavailable'] as const;
/** What an operation that goes on with a workflow may be refused with besides (E12, S9). */
const errorsOfOpenWorkflow = [...commonErrors, 'conflict', 'idempotency_key_reused', 'gone'] as const;

export const startContract = {
  tag,
  id: 'startWorkflow',
  summary: 'Start a workflow; a link that confirms the e-mail address is mailed',
  // Only who has `callback_url` told of it must be known (N2).
  authentication: 'service',
  isTokenOptional: true,
  headers: idempotencyHeaders,
  body: workflowStartRequest,
  answers: { 201: json('The workflow; its token is answered only here.', workflowStartResponse, replayed) },
  errors: [
    'rate_limited',
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
    202: json('Accepted, where the client prefers not to wait (`Prefer: respond-async`).', acceptedOutput, acceptedHeaders),
  },
  errors: [...errorsOfOpenWorkflow, 'provider_failed', 'tier_unavailable', 'queue_unavailable', 'overloaded', 'stamp_pending'],
} satisfies OperationContract;

export const stateContract = {
  tag,
  id: 'readWorkflow',
  summary: 'Where a workflow stands',
  description:
    'To the holder of the workflow token (`Authorization: Workflow …`) also what only he knows; without it what the page shows. ' +
    'It tells what is recorded and verifies nothing; the page does.',
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
  description: 'While the link was not opened, also where the old link has expired or was tried too often; three an hour.',
  authentication: 'workflow',
  path: workflowIdPath,
  headers: idempotencyHeaders,
  answers: { 202: json('The mail is queued.', workflowResendResponse, replayed) },
  errors: [...errorsOfOpenWorkflow, 'mail_unavailable', 'queue_unavailable', 'mail_pending'],
} satisfies OperationContract;

export const completeContract = {
  tag,
  id: 'completeWorkflow',
  summary: 'Close the workflow under a stamped Merkle root',
  description: 'The stamps that closed it are verified for each answer; where they do not verify, it is 500.',
  authentication: 'workflow',
  path: workflowIdPath,
  headers: idempotencyHeaders,
  answers: { 200: json('The closed workflow; again: the same.', workflowCompleteResponse, replayed) },
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
  answers: { 200: json('The address is nowhere any more; again: the same.', workflowRedactResponse, replayed) },
  errors: [...commonErrors, 'queue_unavailable'],
} satisfies OperationContract;
