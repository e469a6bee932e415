import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { acceptedOutputsAnswer, outputBulkAnswer, outputBulkBody } from '../../shared/contract/bulk.ts';
import { detailsQuery, idempotencyHeaders, idempotencyHeadersOfAddress } from '../../shared/contract/parameters.ts';
import { type CallbackRule, withCallbackRule } from '../../shared/contract/stamp.ts';
import {
  acceptedOutput,
  outputHeaders,
  outputWithoutDetails,
  startWithoutDetails,
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
  wantsDetails,
} from '../http/operation.ts';
import { callerIdOf } from '../http/rate-limits.ts';
import { createRequestParser } from '../http/validation.ts';
import { answerBulk, answerOne, inBrief } from '../stamps/index.ts';
import { findWorkflow, openWorkflow } from './access.ts';
import { requestCompletion } from './complete.ts';
import { type Answered, readWorkflowState, redactWorkflow, resendLink, startWorkflow, type WorkflowCommand } from './lifecycle.ts';
import { admitRecipient } from './mail-links.ts';
import { stampOutputs } from './outputs.ts';
import type { WorkflowTools } from './workflow-tools.ts';

/**
 * Registers the routes for workflows. A request counts for a limit only after the request and its token were checked, so a stranger cannot use up the
 * limit of a workflow.
 */
export function registerWorkflowRoutes(app: FastifyInstance, context: ServerContext, tools: WorkflowTools): void {
  const { mistakes, identifyProduct, judgeCallback, baseUrl } = context;
  const mailLimits = createMailLimits(context, tools);

  const parseStartOfStranger = createRequestParser({
    query: detailsQuery,
    headers: idempotencyHeadersOfAddress,
    body: withCallbackRule(workflowStartRequest),
  });
  const parseStartOfProduct = createRequestParser({
    query: detailsQuery,
    headers: idempotencyHeaders,
    body: withCallbackRule(workflowStartRequest, judgeCallback),
  });
  app.post('/api/v1/workflow/start', { config: { contract: startContract } }, async (request, reply) => {
    const product = identifyProduct(request);
    const { query, headers, body } = (product === undefined ? parseStartOfStranger : parseStartOfProduct)(request);
    const started = await startWorkflow(tools, {
      request: body,
      product,
      callerId: callerIdOf(request, product),
      requestId: request.id,
      idempotencyKey: headers['idempotency-key'],
      passLimit: () => mailLimits.start(request, reply, body.user_email),
      baseUrl: baseUrl(),
    });
    const { answer, isReplayed } = started;
    return sendAnswer(reply, 201, wantsDetails(request, query) ? started : { answer: startWithoutDetails(answer), isReplayed });
  });

  registerOutputRoutes(app, context, tools);

  app.get('/api/v1/workflow/:workflow_id', { config: { contract: stateContract } }, async (request, reply) => {
    const token = workflowToken(request);
    const { workflow_id } = parsePath(request).path;
    const workflow = await mistakes.guard(request, reply, () =>
      token === undefined ? findWorkflow(tools, workflow_id) : openWorkflow(tools, workflow_id, token),
    );
    reply.header('Cache-Control', 'no-store');
    return readWorkflowState(tools, workflow, token !== undefined);
  });

  const open = openerOf(context, tools);
  const commandOf = (request: FastifyRequest): WorkflowCommand => ({
    requestId: request.id,
    idempotencyKey: parseHeaders(request).headers['idempotency-key'],
    baseUrl: baseUrl(),
  });

  app.post('/api/v1/workflow/:workflow_id/resend', { config: { contract: resendContract } }, async (request, reply) => {
    const workflow = await open(request, reply);
    const passLimit = () => mailLimits.resend(request, reply, workflow.email);
    return sendAnswer(reply, 202, await resendLink(tools, workflow, { ...commandOf(request), passLimit }));
  });

  app.post('/api/v1/workflow/:workflow_id/complete', { config: { contract: completeContract } }, async (request, reply) => {
    const workflow = await open(request, reply);
    return sendAnswer(reply, 200, await requestCompletion(tools, workflow, commandOf(request)));
  });

  app.post('/api/v1/workflow/:workflow_id/redact-pii', { config: { contract: redactContract } }, async (request, reply) => {
    const workflow = await open(request, reply);
    return sendAnswer(reply, 200, await redactWorkflow(tools, workflow, commandOf(request)));
  });
}

/** Adds the routes that stamp one output of a workflow, or many in one request (L4). */
function registerOutputRoutes(app: FastifyInstance, context: ServerContext, tools: WorkflowTools): void {
  const { reader, largeAnswers, identifyProduct, judgeCallback, outputLimit } = context;
  const open = openerOf(context, tools);
  const onRequest = beforeBody((request, reply) => workflowIdPath.safeParse(request.params).success && open(request, reply));
  const readersOf = (rule?: CallbackRule) => {
    const body = withCallbackRule(workflowStampRequest, rule);
    return {
      parse: createRequestParser({ path: workflowIdPath, query: detailsQuery, headers: idempotencyHeaders, body }),
      readItems: (request: FastifyRequest) => readBulk(request, body),
    };
  };
  const [ofStranger, ofProduct] = [readersOf(), readersOf(judgeCallback)];
  const readerOf = (request: FastifyRequest) => (identifyProduct(request) === undefined ? ofStranger : ofProduct);
  const callerOf = (request: FastifyRequest) => {
    const product = identifyProduct(request);
    const patienceMs = patienceMsOf(readPrefer(request.headers.prefer));
    return { product, callerId: callerIdOf(request, product), requestId: request.id, patienceMs };
  };

  app.post('/api/v1/workflow/:workflow_id/stamp', { onRequest, config: { contract: outputContract } }, async (request, reply) => {
    const { parse } = readerOf(request);
    // If the id in the path is not valid, this reports it together with all other faults. Otherwise a wrong token is reported before a wrong body
    // (E5).
    if (!workflowIdPath.safeParse(request.params).success) parse(request);
    const workflow = await open(request, reply);
    const { query, headers, body } = parse(request);
    const stamped = await stampOutputs(tools, {
      ...callerOf(request),
      workflow,
      entries: [{ index: 0, order: body }],
      spentMs: Math.round(reply.elapsedTime),
      idempotencyKey: headers['idempotency-key'],
      passLimit: () => outputLimit(request, reply),
    });
    return answerOne(request, reply, wantsDetails(request, query) ? stamped : inBrief(stamped, outputWithoutDetails));
  });

  app.register(async (scope) => {
    registerBulkBodies(scope, reader);
    const options = { bodyLimit: bulkBodyLimit, onRequest, config: { contract: bulkContract } };
    scope.post('/api/v1/workflow/:workflow_id/stamps', options, async (request, reply) => {
      const workflow = await open(request, reply);
      const { query, headers } = parseBulk(request);
      const idempotencyKey = headers['idempotency-key'];
      const bulk = readerOf(request).readItems(request);
      const passLimit = () => outputLimit.items(request, reply, bulk.size);
      return answerBulk(request, reply, largeAnswers, bulk, async (entries) => {
        const stamped = await stampOutputs(tools, { ...callerOf(request), workflow, isBulk: true, entries, idempotencyKey, passLimit });
        return wantsDetails(request, query) ? stamped : inBrief(stamped, outputWithoutDetails);
      });
    });
  });
}

/** Returns a function that opens the workflow in the path of a request, and checks its token. */
const openerOf =
  ({ mistakes }: ServerContext, tools: WorkflowTools) =>
  (request: FastifyRequest, reply: FastifyReply) => {
    const { workflow_id } = parsePath(request).path;
    return mistakes.guard(request, reply, () => openWorkflow(tools, workflow_id, workflowToken(request), reply.elapsedTime));
  };

/** The token of `Authorization: Workflow <token>`. The case of the scheme does not matter (RFC 9110 §11.1). */
function workflowToken({ headers }: FastifyRequest): string | undefined {
  return /^workflow +([\x21-\x7e]+) *$/i.exec(headers.authorization ?? '')?.[1];
}

function sendAnswer<Answer>(reply: FastifyReply, status: number, { answer, isReplayed }: Answered<Answer>): Answer {
  reply.code(status);
  if (isReplayed) reply.header('Idempotent-Replayed', 'true');
  return answer;
}

const resendsPerHour = 3;

/**
 * Creates the limits of requests that mail a link. `mail` counts a mail to one recipient, whoever asks for it. `start` counts a start for the address
 * that asks, and its mail. A start that is refused for its recipient does not count for the address (W25). `resend` counts a new link for its
 * workflow, and its mail.
 *
 * @throws ServiceError `recipient_limited`, `recipient_blocked`, `rate_limited`, `store_unavailable`
 */
export function createMailLimits({ config, limits, limitStarts }: ServerContext, tools: WorkflowTools) {
  const limitOf = (name: string, points: number, durationSeconds: number) =>
    limits.by({ name, points, durationSeconds, unit: 'mails to one recipient', code: 'recipient_limited', key: () => '' });
  const perHour = limitOf('recipient-hour', config.RATE_RECIPIENT_PER_HOUR, 3_600);
  const perDay = limitOf('recipient-day', config.RATE_RECIPIENT_PER_DAY, 86_400);

  async function mail(request: FastifyRequest, reply: FastifyReply, address: string): Promise<void> {
    const hash = await admitRecipient(tools, address);
    await perHour.items(request, reply, 1, hash);
    await orGiveBack(perDay.items(request, reply, 1, hash), () => perHour.giveBack(request, reply, hash));
  }

  async function start(request: FastifyRequest, reply: FastifyReply, address: string): Promise<void> {
    await limitStarts(request, reply);
    await orGiveBack(mail(request, reply, address), () => limitStarts.giveBack(request, reply));
  }

  const limitResends = limits.by({
    name: 'workflow-resend',
    points: resendsPerHour,
    durationSeconds: 3_600,
    key: (request) => parsePath(request).path.workflow_id,
  });

  async function resend(request: FastifyRequest, reply: FastifyReply, address: string): Promise<void> {
    await limitResends(request, reply);
    await mail(request, reply, address);
  }

  const orGiveBack = (counted: Promise<void>, giveBack: () => Promise<void>) =>
    counted.catch(async (error) => {
      await giveBack();
      throw error;
    });

  return { mail, start, resend };
}

const tag = 'Workflow';
const replayed = { 'Idempotent-Replayed': '`true` if an earlier request with the same Idempotency-Key got this answer.' };
/** Errors that every operation on a workflow may have. */
const commonErrors = ['rate_limited', 'not_found', 'store_unavailable'] as const;
/** Errors of every operation that changes an open workflow. */
const errorsOfOpenWorkflow = [...commonErrors, 'conflict', 'idempotency_key_reused', 'gone'] as const;

const mailErrors = ['recipient_limited', 'recipient_blocked', 'mail_unavailable', 'queue_unavailable', 'mail_pending'] as const;
export const resendErrors = [...errorsOfOpenWorkflow, ...mailErrors];

const ofWorkflow = { tag, authentication: 'workflow', path: workflowIdPath } as const;

const startContract = {
  tag,
  id: 'startWorkflow',
  summary: 'Start a workflow and mail a link that confirms the e-mail address',
  // Only a caller that sets `callback_url` needs a service token.
  authentication: 'service',
  isTokenOptional: true,
  query: detailsQuery,
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

const outputContract = {
  ...ofWorkflow,
  id: 'stampWorkflowOutput',
  summary: 'Stamp an output',
  description: 'Outputs are numbered 1, 2, 3 … without a gap.',
  query: detailsQuery,
  headers: outputHeaders,
  body: workflowStampRequest,
  answers: {
    201: json('The output with its number.', workflowStampResponse, replayed),
    202: json('Accepted, if the client prefers not to wait (`Prefer: respond-async`).', acceptedOutput, acceptedHeaders),
  },
  errors: [...errorsOfOpenWorkflow, 'provider_failed', 'tier_unavailable', 'queue_unavailable', 'overloaded', 'stamp_pending'],
} satisfies OperationContract;

const hash = '2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824';

const bulkContract = {
  ...ofWorkflow,
  id: 'stampWorkflowOutputs',
  summary: 'Stamp up to 1 000 outputs',
  description:
    'Send an array, or a line for each output (`application/x-ndjson`). The answer has the same format and order. Outputs are numbered in that order; one ' +
    `that fails gets no number. One Idempotency-Key covers them all, and so does \`Prefer: respond-async\`.`,
  query: detailsQuery,
  headers: outputHeaders,
  body: outputBulkBody,
  bodyExample: [{ output_hash: hash, output_type: 'image' }],
  answers: { ...bulkAnswersOf(outputBulkAnswer), ...acceptedBulkOf(acceptedOutputsAnswer) },
  errors: outputContract.errors.filter((code) => code !== 'stamp_pending' && code !== 'provider_failed'),
} satisfies OperationContract;

const stateContract = {
  ...ofWorkflow,
  id: 'readWorkflow',
  summary: 'The state of a workflow',
  description:
    'With the workflow token (`Authorization: Workflow …`) the answer includes private facts; without it only the facts on the page. ' +
    'The state is as recorded and not verified; the page verifies it.',
  isTokenOptional: true,
  answers: { 200: json('The state.', workflowStateResponse) },
  errors: [...commonErrors, 'unauthorized'],
} satisfies OperationContract;

const resendContract = {
  ...ofWorkflow,
  id: 'resendWorkflowLink',
  summary: 'Mail a new link; the old one ends',
  description:
    'Works until the e-mail address is confirmed, even if the old link has expired or was tried too often. At most three an hour.',
  headers: idempotencyHeaders,
  answers: { 202: json('The mail is queued.', workflowResendResponse, replayed) },
  errors: resendErrors,
} satisfies OperationContract;

const completeContract = {
  ...ofWorkflow,
  id: 'completeWorkflow',
  summary: 'Close the workflow under a stamped Merkle root',
  description:
    'The service verifies the stamps that closed the workflow for each answer. If they do not verify, the answer is 500. A client who has ' +
    'confirmed his address gets a mail with links to the page and to the evidence.',
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
  ...ofWorkflow,
  id: 'redactWorkflow',
  summary: 'Remove the e-mail address (GDPR Article 17)',
  description: 'Hashes, stamps and the chain of outputs remain, and every proof still verifies.',
  headers: idempotencyHeaders,
  answers: { 200: json('The address is removed everywhere. A repeated request gets the same answer.', workflowRedactResponse, replayed) },
  errors: [...commonErrors, 'queue_unavailable'],
} satisfies OperationContract;

const parsePath = createRequestParser({ path: workflowIdPath });
const parseHeaders = createRequestParser({ headers: idempotencyHeaders });
const parseBulk = createRequestParser({ path: workflowIdPath, query: detailsQuery, headers: outputHeaders });
