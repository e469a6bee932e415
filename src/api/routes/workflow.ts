import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { WorkflowRedactResponse } from '../../shared/contract/workflow.ts';
import { workflowPath, workflowStampRequest, workflowStartRequest } from '../../shared/contract/workflow.ts';
import { addressKey, type RateLimits } from '../plugins/rate-limits.ts';
import { createRequestParser } from '../plugins/validation.ts';
import type { Workflows } from '../services/workflows/workflows.ts';
import { stampHeaders } from './stamping.ts';

const parseStart = createRequestParser({ headers: stampHeaders, body: workflowStartRequest });
const parsePath = createRequestParser({ path: workflowPath });
const parseStamp = createRequestParser({ headers: stampHeaders, body: workflowStampRequest });
const parseHeaders = createRequestParser({ headers: stampHeaders });

const hourSeconds = 3_600;

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
 * What agents do with workflows. Requests count for a limit once they are understood, and those with a token once it is known: what is
 * refused with 422 sends no mail and makes no stamp, and a stranger cannot use up a workflow's share.
 */
export function registerWorkflowRoutes(
  app: FastifyInstance,
  deps: { workflows: Workflows; limits: RateLimits; startsPerHour: number; stampsPerMinute: number },
): void {
  const { workflows, limits, startsPerHour, stampsPerMinute } = deps;
  const limitStarts = limits.by({ name: 'workflow-start', points: startsPerHour, durationSeconds: hourSeconds, key: addressKey });
  const limitStamps = limits.by({
    name: 'workflow-stamp',
    points: stampsPerMinute,
    durationSeconds: 60,
    key: (request) => parsePath(request).path.workflow_id,
  });
  const open = (request: FastifyRequest) => workflows.open(parsePath(request).path.workflow_id, workflowToken(request));

  app.post('/api/v1/workflow/start', async (request, reply) => {
    const { headers, body } = parseStart(request);
    await limitStarts(request, reply);
    const started = await workflows.start({
      request: body,
      callerId: `workflow-start:${addressKey(request)}`,
      requestId: request.id,
      idempotencyKey: headers['idempotency-key'],
    });
    return sendAnswer(reply, 201, started);
  });

  app.post('/api/v1/workflow/:workflow_id/stamp', async (request, reply) => {
    const workflow = await open(request);
    const { headers, body } = parseStamp(request);
    await limitStamps(request, reply);
    const stamped = await workflows.stampOutput({
      workflow,
      request: body,
      requestId: request.id,
      idempotencyKey: headers['idempotency-key'],
    });
    return sendAnswer(reply, 201, stamped);
  });

  app.post('/api/v1/workflow/:workflow_id/complete', async (request, reply) => {
    const workflow = await open(request);
    const hasKey = parseHeaders(request).headers['idempotency-key'] !== undefined;
    const completed = await workflows.complete(workflow, request.id);
    return sendAnswer(reply, 200, { ...completed, isReplayed: completed.isReplayed && hasKey });
  });

  app.post('/api/v1/workflow/:workflow_id/redact-pii', async (request, reply): Promise<WorkflowRedactResponse> => {
    const workflow = await open(request);
    const hasKey = parseHeaders(request).headers['idempotency-key'] !== undefined;
    const answer = await workflows.redact(workflow);
    return sendAnswer(reply, 200, { answer, isReplayed: workflow.redactedAt !== undefined && hasKey });
  });
}
