import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { acceptedOutputsAnswer, outputBulkAnswer, outputBulkBody } from '../../shared/contract/bulk.ts';
import { idempotencyHeaders, idempotencyHeadersOfAddress } from '../../shared/contract/parameters.ts';
import { callbackNeedsService } from '../../shared/contract/stamp.ts';
import {
  acceptedOutput,
  outputHeaders,
  type WorkflowRedactResponse,
  workflowCompleteResponse,
  workflowIdPath,
  workflowRedactResponse,
  workflowResendResponse,
  workflowStampRequest,
  workflowStampRequestFor,
  workflowStampResponse,
  workflowStartRequest,
  workflowStartResponse,
  workflowStateResponse,
} from '../../shared/contract/workflow.ts';
import { beforeBody } from '../http/body-reader.ts';
import type { ServerContext } from '../http/context.ts';
import { bulkBodyLimit, readBulk, registerBulkBodies } from '../http/json-body.ts';
import {
  acceptedBulkOf,
  acceptedHeaders,
  bulkAnswersOf,
  json,
  type OperationContract,
  patienceMsOf,
  readPrefer,
} from '../http/operation.ts';
import { addressKey, callerIdOf } from '../http/rate-limits.ts';
import { createRequestParser, RequestValidationError } from '../http/validation.ts';
import { beginAnswer, sendAccepted, sendBulk } from '../stamps/index.ts';
import { bindAnswer, findWorkflow, openWorkflow, readWorkflowState } from './access.ts';
import { redactWorkflow, requestCompletion, resendLink, starterIdOf, startWorkflow } from './lifecycle.ts';
import { createMailLimits } from './mail-limits.ts';
import { stampOutputs } from './outputs.ts';
import type { WorkflowTools } from './workflow-tools.ts';

const tag = 'Workflow';
const replayed = { 'Idempotent-Replayed': '`true` if an earlier request with the same Idempotency-Key got this answer.' };
/** Errors that every operation on a workflow may have. */
const commonErrors = ['rate_limited', 'not_found', 'store_unavailable'] as const;
/** Errors of every operation that changes an open workflow. */
const errorsOfOpenWorkflow = [...commonErrors, 'conflict', 'idempotency_key_reused', 'gone'] as const;

const startContract = {
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

const stateContract = {
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

const resendContract = {
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

const completeContract = {
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

const redactContract = {
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

const parseStartOfProduct = createRequestParser(startContract);
const parseStartOfStranger = createRequestParser({ ...startContract, headers: idempotencyHeadersOfAddress });
const parsePath = createRequestParser({ path: workflowIdPath });
const parseHeaders = createRequestParser({ headers: idempotencyHeaders });

const resendsPerHour = 3;

/** The token of `Authorization: Workflow <token>`. The case of the scheme does not matter (RFC 9110 §11.1). */
function workflowToken({ headers }: FastifyRequest): string | undefined {
  return /^workflow +([\x21-\x7e]+) *$/i.exec(headers.authorization ?? '')?.[1];
}

function sendAnswer<Answer>(reply: FastifyReply, status: number, { answer, isReplayed }: { answer: Answer; isReplayed: boolean }): Answer {
  reply.code(status);
  if (isReplayed) reply.header('Idempotent-Replayed', 'true');
  return answer;
}

/**
 * Registers the routes for workflows. A request counts for a limit only after the request and its token were checked, so a stranger cannot use up the
 * limit of a workflow.
 */
export function registerWorkflowRoutes(app: FastifyInstance, context: ServerContext, tools: WorkflowTools): void {
  const { limits, outputLimit, mistakes, identifyProduct, judgeCallback, baseUrl } = context;
  const parserFor = (judge?: (url: string) => string | undefined) =>
    createRequestParser({ path: workflowIdPath, headers: idempotencyHeaders, body: workflowStampRequestFor(judge) });
  const [parseOfStranger, parseOfProduct] = [parserFor(), parserFor(judgeCallback)];
  const parseStamp = (request: FastifyRequest) => (identifyProduct(request) === undefined ? parseOfStranger : parseOfProduct)(request);
  const limitResends = limits.by({
    name: 'workflow-resend',
    points: resendsPerHour,
    durationSeconds: 3_600,
    key: (request) => parsePath(request).path.workflow_id,
  });
  const mailLimits = createMailLimits(context, tools);
  /** Checks the URL of a webhook. @throws RequestValidationError if this caller may not use webhooks, or the URL is not allowed */
  function checkCallback(request: FastifyRequest, url: string | null | undefined): void {
    if (typeof url !== 'string') return;
    const fault = identifyProduct(request) === undefined ? callbackNeedsService : judgeCallback(url);
    if (fault === undefined) return;
    const item = { type: 'value_error', loc: ['body', 'callback_url'], msg: `Value error, ${fault}`, input: url, ctx: { error: {} } };
    throw new RequestValidationError([item]);
  }
  const open = (request: FastifyRequest, reply: FastifyReply) => {
    const { workflow_id } = parsePath(request).path;
    return mistakes.guard(request, reply, () => openWorkflow(tools, workflow_id, workflowToken(request), reply.elapsedTime));
  };

  app.post('/api/v1/workflow/start', { config: { contract: startContract } }, async (request, reply) => {
    const product = identifyProduct(request);
    const { headers, body } = (product === undefined ? parseStartOfStranger : parseStartOfProduct)(request);
    checkCallback(request, body.callback_url);
    const started = await startWorkflow(tools, {
      request: body,
      product,
      callerId: starterIdOf(product, addressKey(request)),
      requestId: request.id,
      idempotencyKey: headers['idempotency-key'],
      passLimit: () => mailLimits.start(request, reply, body.user_email),
      baseUrl: baseUrl(),
    });
    return sendAnswer(reply, 201, started);
  });

  const onRequest = beforeBody((request, reply) => workflowIdPath.safeParse(request.params).success && open(request, reply));
  app.post('/api/v1/workflow/:workflow_id/stamp', { onRequest, config: { contract: stampContract } }, async (request, reply) => {
    // If the id in the path is not valid, this reports it together with all other faults. Otherwise a wrong token is reported before a wrong body
    // (E5).
    if (!workflowIdPath.safeParse(request.params).success) parseStamp(request);
    const workflow = await open(request, reply);
    const { headers, body } = parseStamp(request);
    const product = identifyProduct(request);
    const preferences = readPrefer(request.headers.prefer);
    const { answers, isReplayed } = await stampOutputs(tools, {
      workflow,
      entries: [{ index: 0, request: body }],
      operation: 'workflow_stamp',
      product,
      callerId: callerIdOf(request, product),
      requestId: request.id,
      spentMs: Math.round(reply.elapsedTime),
      idempotencyKey: headers['idempotency-key'],
      passLimit: () => outputLimit(request, reply),
      patienceMs: patienceMsOf(preferences),
    });
    const answer = await answers[0]!;
    if ('made' in answer) return sendAnswer(reply, 201, { answer: answer.made, isReplayed });
    return sendAccepted(reply, sendAnswer(reply, 202, { answer: answer.accepted, isReplayed }), preferences);
  });

  registerBulkOutputs(app, context, tools, open);

  app.get('/api/v1/workflow/:workflow_id', { config: { contract: stateContract } }, async (request, reply) => {
    const token = workflowToken(request);
    const { workflow_id } = parsePath(request).path;
    const workflow = await mistakes.guard(request, reply, () =>
      token === undefined ? findWorkflow(tools, workflow_id) : openWorkflow(tools, workflow_id, token),
    );
    reply.header('Cache-Control', 'no-store');
    return readWorkflowState(tools, workflow, token !== undefined);
  });

  app.post('/api/v1/workflow/:workflow_id/resend', { config: { contract: resendContract } }, async (request, reply) => {
    const workflow = await open(request, reply);
    const { headers } = parseHeaders(request);
    const resent = await resendLink(tools, {
      workflow,
      requestId: request.id,
      idempotencyKey: headers['idempotency-key'],
      passLimit: async () => {
        await limitResends(request, reply);
        await mailLimits.mail(request, reply, workflow.email);
      },
      baseUrl: baseUrl(),
    });
    return sendAnswer(reply, 202, resent);
  });

  app.post('/api/v1/workflow/:workflow_id/complete', { config: { contract: completeContract } }, async (request, reply) => {
    const workflow = await open(request, reply);
    const { headers } = parseHeaders(request);
    const answer = await requestCompletion(tools, workflow, { requestId: request.id, baseUrl: baseUrl() });
    return sendAnswer(reply, 200, { answer, isReplayed: await bindAnswer(tools, workflow, 'complete', headers['idempotency-key']) });
  });

  app.post(
    '/api/v1/workflow/:workflow_id/redact-pii',
    { config: { contract: redactContract } },
    async (request, reply): Promise<WorkflowRedactResponse> => {
      const workflow = await open(request, reply);
      const { headers } = parseHeaders(request);
      const answer = await redactWorkflow(tools, workflow);
      return sendAnswer(reply, 200, { answer, isReplayed: await bindAnswer(tools, workflow, 'redact', headers['idempotency-key']) });
    },
  );
}

const hash = '2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824';

const contract = {
  tag: 'Workflow',
  id: 'stampWorkflowOutputs',
  summary: 'Stamp up to 1 000 outputs',
  description:
    'Send an array, or a line for each output (`application/x-ndjson`). The answer has the same format and order. Outputs are numbered in that order; one ' +
    `that fails gets no number. One Idempotency-Key covers them all, and so does \`Prefer: respond-async\`.`,
  authentication: 'workflow',
  path: workflowIdPath,
  headers: outputHeaders,
  body: outputBulkBody,
  bodyExample: [{ output_hash: hash, output_type: 'image' }],
  answers: { ...bulkAnswersOf(outputBulkAnswer), ...acceptedBulkOf(acceptedOutputsAnswer) },
  errors: stampContract.errors.filter((code) => code !== 'stamp_pending' && code !== 'provider_failed'),
} satisfies OperationContract;

const parse = createRequestParser({ path: contract.path, headers: contract.headers });

/** Registers the route that stamps many outputs of a workflow in one request (L4). `open` checks the token of the request. */
function registerBulkOutputs(
  app: FastifyInstance,
  context: ServerContext,
  tools: WorkflowTools,
  open: (request: FastifyRequest, reply: FastifyReply) => ReturnType<typeof openWorkflow>,
): void {
  const { reader, largeAnswers, identifyProduct, judgeCallback, outputLimit } = context;
  const [ofStranger, ofProduct] = [workflowStampRequestFor(), workflowStampRequestFor(judgeCallback)];
  const onRequest = beforeBody((request, reply) => workflowIdPath.safeParse(request.params).success && open(request, reply));
  app.register(async (scope) => {
    registerBulkBodies(scope, reader);
    const options = { bodyLimit: bulkBodyLimit, onRequest, config: { contract } };
    scope.post('/api/v1/workflow/:workflow_id/stamps', options, async (request, reply) => {
      const workflow = await open(request, reply);
      const { headers } = parse(request);
      const product = identifyProduct(request);
      const bulk = readBulk(request, product === undefined ? ofStranger : ofProduct);
      beginAnswer(request, reply, largeAnswers, bulk.size);
      const told = await stampOutputs(tools, {
        workflow,
        operation: 'workflow_stamps',
        product,
        callerId: callerIdOf(request, product),
        entries: bulk.entries.map(({ index, item }) => ({ index, request: item })),
        requestId: request.id,
        idempotencyKey: headers['idempotency-key'],
        passLimit: () => outputLimit.items(request, reply, bulk.size),
        patienceMs: patienceMsOf(readPrefer(request.headers.prefer)),
      });
      return sendBulk(request, reply, bulk, told);
    });
  });
}
