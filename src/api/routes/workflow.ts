import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { idempotencyHeaders } from '../../shared/contract/parameters.ts';
import {
  type WorkflowRedactResponse,
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
import { beforeBody } from '../http/before-body.ts';
import { baseUrlOf } from '../http/origin.ts';
import { addressKey, type RateLimits } from '../http/rate-limits.ts';
import { createRequestParser } from '../http/validation.ts';
import { json, type OperationContract } from '../openapi/operation.ts';
import type { Workflows } from '../services/workflows/workflows.ts';

const tag = 'Workflow';
const replayed = { 'Idempotent-Replayed': '`true` where an earlier request with the same Idempotency-Key was answered so.' };
/** What each operation on one workflow may be refused with, whatever it does (E5, E10). */
const commonErrors = ['not_found', 'store_unavailable'] as const;

const startContract = {
  tag,
  id: 'startWorkflow',
  summary: 'Start a workflow; a link that confirms the e-mail address is mailed',
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

const stampContract = {
  tag,
  id: 'stampWorkflowOutput',
  summary: 'Stamp an output',
  description: 'Outputs are numbered 1, 2, 3 … without a gap.',
  authentication: 'workflow',
  path: workflowIdPath,
  headers: idempotencyHeaders,
  body: workflowStampRequest,
  answers: { 201: json('The output with its number.', workflowStampResponse, replayed) },
  errors: [
    ...commonErrors,
    'conflict',
    'idempotency_key_reused',
    'gone',
    'rate_limited',
    'provider_failed',
    'tier_unavailable',
    'queue_unavailable',
    'overloaded',
    'stamp_pending',
  ],
} satisfies OperationContract;

const stateContract = {
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

const resendContract = {
  tag,
  id: 'resendWorkflowLink',
  summary: 'Mail a new link; the old one ends',
  description: 'While the workflow is pending, also where the old link has expired or was tried too often; three an hour.',
  authentication: 'workflow',
  path: workflowIdPath,
  headers: idempotencyHeaders,
  answers: { 202: json('The mail is queued.', workflowResendResponse, replayed) },
  errors: [
    ...commonErrors,
    'conflict',
    'idempotency_key_reused',
    'gone',
    'rate_limited',
    'mail_unavailable',
    'queue_unavailable',
    'mail_pending',
  ],
} satisfies OperationContract;

const completeContract = {
  tag,
  id: 'completeWorkflow',
  summary: 'Close the workflow under a stamped Merkle root',
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

const redactContract = {
  tag,
  id: 'redactWorkflow',
  summary: 'Remove the e-mail address (GDPR Article 17)',
  description: 'Hash anchors and the chain of outputs remain, and every proof still verifies.',
  authentication: 'workflow',
  path: workflowIdPath,
  headers: idempotencyHeaders,
  answers: { 200: json('The address is nowhere any more; again: the same.', workflowRedactResponse, replayed) },
  errors: [...commonErrors, 'queue_unavailable'],
} satisfies OperationContract;

const parseStart = createRequestParser(startContract);
const parsePath = createRequestParser({ path: workflowIdPath });
const parseStamp = createRequestParser({ path: workflowIdPath, headers: idempotencyHeaders, body: workflowStampRequest });
const parseHeaders = createRequestParser({ headers: idempotencyHeaders });

const hourSeconds = 3_600;

/** W6 */
const resendsPerHour = 3;

/** The token of `Authorization: Workflow <token>`; schemes are compared without regard to case (RFC 9110 §11.1). */
function workflowToken({ headers }: FastifyRequest): string | undefined {
  return /^workflow +([\x21-\x7e]+) *$/i.exec(headers.authorization ?? '')?.[1];
}

function sendAnswer<Answer>(reply: FastifyReply, status: number, { answer, isReplayed }: { answer: Answer; isReplayed: boolean }): Answer {
  reply.code(status);
  if (isReplayed) reply.header('Idempotent-Replayed', 'true');
  return answer;
}

/**
 * The operations on workflows. A request counts for a limit only after it was found valid, and after its token was checked: an invalid
 * request does no work, and a stranger cannot use up the limit of a workflow.
 */
export function registerWorkflowRoutes(
  app: FastifyInstance,
  deps: {
    workflows: Workflows;
    limits: RateLimits;
    publicBaseUrl: string | undefined;
    startsPerHour: number;
    stampsPerMinute: number;
  },
): void {
  const { workflows, limits, publicBaseUrl, startsPerHour, stampsPerMinute } = deps;
  const limitStarts = limits.by({ name: 'workflow-start', points: startsPerHour, durationSeconds: hourSeconds, key: addressKey });
  const limitStamps = limits.by({
    name: 'workflow-stamp',
    points: stampsPerMinute,
    durationSeconds: 60,
    key: (request) => parsePath(request).path.workflow_id,
  });
  const limitResends = limits.by({
    name: 'workflow-resend',
    points: resendsPerHour,
    durationSeconds: hourSeconds,
    key: (request) => parsePath(request).path.workflow_id,
  });
  const open = (request: FastifyRequest) => workflows.open(parsePath(request).path.workflow_id, workflowToken(request));

  app.post('/api/v1/workflow/start', { config: { contract: startContract } }, async (request, reply) => {
    const { headers, body } = parseStart(request);
    const started = await workflows.start({
      request: body,
      callerId: `workflow-start:${addressKey(request)}`,
      requestId: request.id,
      idempotencyKey: headers['idempotency-key'],
      passLimit: () => limitStarts(request, reply),
      baseUrl: baseUrlOf(app, publicBaseUrl),
    });
    return sendAnswer(reply, 201, started);
  });

  const onRequest = beforeBody((request) => workflowIdPath.safeParse(request.params).success && open(request));
  app.post('/api/v1/workflow/:workflow_id/stamp', { onRequest, config: { contract: stampContract } }, async (request, reply) => {
    // An address that can name no workflow is reported with all else that is wrong (E1); a token that opens none comes before a bad body (E5).
    if (!workflowIdPath.safeParse(request.params).success) parseStamp(request);
    const workflow = await open(request);
    const { headers, body } = parseStamp(request);
    const stamped = await workflows.stampOutput({
      workflow,
      request: body,
      requestId: request.id,
      idempotencyKey: headers['idempotency-key'],
      passLimit: () => limitStamps(request, reply),
    });
    return sendAnswer(reply, 201, stamped);
  });

  app.get('/api/v1/workflow/:workflow_id', { config: { contract: stateContract } }, async (request, reply) => {
    const token = workflowToken(request);
    const { workflow_id } = parsePath(request).path;
    const workflow = await (token === undefined ? workflows.find(workflow_id) : workflows.open(workflow_id, token));
    reply.header('Cache-Control', 'no-store');
    return workflows.state(workflow, token !== undefined);
  });

  app.post('/api/v1/workflow/:workflow_id/resend', { config: { contract: resendContract } }, async (request, reply) => {
    const workflow = await open(request);
    const { headers } = parseHeaders(request);
    const resent = await workflows.resend({
      workflow,
      requestId: request.id,
      idempotencyKey: headers['idempotency-key'],
      passLimit: () => limitResends(request, reply),
      baseUrl: baseUrlOf(app, publicBaseUrl),
    });
    return sendAnswer(reply, 202, resent);
  });

  app.post('/api/v1/workflow/:workflow_id/complete', { config: { contract: completeContract } }, async (request, reply) => {
    const workflow = await open(request);
    const { headers } = parseHeaders(request);
    const answer = await workflows.complete(workflow, request.id);
    return sendAnswer(reply, 200, { answer, isReplayed: await workflows.bindAnswer(workflow, 'complete', headers['idempotency-key']) });
  });

  app.post(
    '/api/v1/workflow/:workflow_id/redact-pii',
    { config: { contract: redactContract } },
    async (request, reply): Promise<WorkflowRedactResponse> => {
      const workflow = await open(request);
      const { headers } = parseHeaders(request);
      const answer = await workflows.redact(workflow);
      return sendAnswer(reply, 200, { answer, isReplayed: await workflows.bindAnswer(workflow, 'redact', headers['idempotency-key']) });
    },
  );
}
