import type { FastifyInstance } from 'fastify';
import { workflowIdPath } from '../../shared/contract/workflow.ts';
import type { ApiTools } from '../tools.ts';
import { createBodyBudget, createBodyReader, stampBodyLimit, tokenBodyLimit } from './body-reader.ts';
import { createLargeAnswers } from './connections.ts';
import { createCallbackRule, createMistakes, createProductRule, createServiceTokens } from './credentials.ts';
import { ownOrigin } from './headers.ts';
import { bulkBodyLimit } from './json-body.ts';
import { addressKey } from './rate-limits.ts';

/**
 * Creates the context that the routes of every capability get in addition to their tools: the settings, and everything that all requests share. Call
 * it once for each app.
 */
export function createContext(app: FastifyInstance, tools: ApiTools) {
  const { config, limits } = tools;
  const { SEALED_MAX_BYTES: sealedMaxBytes } = config;
  const identifyProduct = createServiceTokens(config.SERVICE_TOKENS);
  const mistakes = createMistakes(tools);
  const limitOf = (name: string, points: number, durationSeconds = 60) => limits.by({ name, points, durationSeconds, key: addressKey });
  return {
    config,
    limits,
    mistakes,
    sealedMaxBytes,
    identifyProduct,
    requireProduct: createProductRule(identifyProduct, mistakes),
    /** Returns why a URL is not allowed as the target of a webhook, or undefined if it is allowed. */
    judgeCallback: createCallbackRule(config),
    /** This limit and the four below count requests for each client address. Operations that use the same limit share its count. */
    agentLimit: limitOf('agent', config.RATE_AGENT_PER_MINUTE),
    limitStarts: limitOf('workflow-start', config.RATE_WORKFLOW_START_PER_HOUR, 3_600),
    limitVerifying: limitOf('verify', config.RATE_VERIFY_PER_MINUTE),
    limitDoor: limitOf('tsa', config.RATE_TSA_PER_MINUTE),
    limitStatus: limitOf('status', config.RATE_STATUS_PER_MINUTE),
    outputLimit: limits.by({
      name: 'workflow-stamp',
      points: config.RATE_WORKFLOW_STAMP_PER_MINUTE,
      durationSeconds: 60,
      key: ({ params }) => workflowIdPath.parse(params).workflow_id,
    }),
    productLimit: limits.by({
      name: 'internal',
      points: config.RATE_INTERNAL_PER_MINUTE,
      durationSeconds: 60,
      key: (request) => identifyProduct(request) ?? '',
    }),
    /** The public base URL of the service, without a final slash. It never depends on the request. */
    baseUrl: () => config.PUBLIC_BASE_URL ?? ownOrigin(app),
    reader: createBodyReader(app, {
      budget: createBodyBudget(Math.max(stampBodyLimit(sealedMaxBytes), tokenBodyLimit, bulkBodyLimit)),
      senderOf: (request) => ({ hasToken: identifyProduct(request) !== undefined, address: addressKey(request) }),
    }),
    largeAnswers: createLargeAnswers(),
  };
}

export type ServerContext = ReturnType<typeof createContext>;
