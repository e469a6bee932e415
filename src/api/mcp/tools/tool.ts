import type { FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { evidencePath, verifyPath, workflowPath } from '../../../shared/domain/addresses.ts';
import { mockProviderName } from '../../../shared/domain/mock-token.ts';
import { ServiceError, statusOf } from '../../../shared/domain/service-error.ts';
import type { ServerContext } from '../../http/context.ts';
import { errorBody, type Fault, faultOf, validationFault } from '../../http/errors.ts';
import { validationItems } from '../../http/validation.ts';
import type { createMailLimits, WorkflowTools } from '../../workflows/index.ts';
import { rateLimitError } from '../json-rpc.ts';

/** Everything about a request that the tools use. */
export interface CallContext {
  readonly tools: WorkflowTools;
  readonly requestId: string;
  /** The owner of a share of the queue, and of idempotency keys. */
  readonly callerId: string;
  readonly guards: CallGuards;
  readonly links: Links;
  /** The public base URL of the service, without a final slash. */
  readonly baseUrl: string;
  /** Called if an earlier call with the same key did the work. The answer is then the same, and a response header says that it is repeated. */
  readonly onReplayed: () => void;
  /** Records why a call was refused or failed, for the log and the metrics. */
  readonly note: (fault: Fault) => void;
}

export interface ToolCall extends CallContext {
  readonly product: string;
  /** `_meta.idempotency_key` of the call, or the header. */
  readonly idempotencyKey: string | undefined;
}

interface ToolOptions<Schema extends z.ZodType, Answer extends z.ZodType> {
  readonly name: string;
  readonly description: string;
  readonly annotations: Hints & { readonly title: string };
  readonly arguments: Schema;
  readonly answer: Answer;
  /**
   * True for the three tools of the published interface. For clients of the first revision their definition must not change, so it has no
   * `outputSchema`.
   */
  readonly isOfContract?: true;
  readonly run: (
    given: z.output<Schema>,
    call: ToolCall,
  ) => Promise<{ readonly answer: z.output<Answer> & object; readonly isReplayed?: boolean }>;
  /** Pages and files that belong to an answer. */
  readonly linksOf?: (answer: z.output<Answer>, links: Links) => readonly ResourceLink[];
}

type Hints = Readonly<Record<'readOnlyHint' | 'destructiveHint' | 'idempotentHint' | 'openWorldHint', boolean>>;

/** Hints to assistants about tools that only read. */
export const reading: Hints = { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false };
/** Hints about tools that add data but never delete or change any. The same call twice adds twice. */
export const adding: Hints = { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: true };

export type Tool = ReturnType<typeof toolOf>;

/** Makes a tool from its contract. Its JSON Schema is made from the same contract. */
export function toolOf<Schema extends z.ZodType, Answer extends z.ZodType>(options: ToolOptions<Schema, Answer>) {
  const { name, description, annotations, arguments: contract, answer: answerContract, isOfContract, run, linksOf = () => [] } = options;
  const inputSchema = inputSchemaOf(contract);
  const modernDefinition = { name, description, inputSchema, outputSchema: answerSchemaOf(answerContract), annotations };
  return {
    name,
    /** For clients of the first revision. */
    definition: isOfContract ? { name, description, inputSchema, annotations } : modernDefinition,
    /** For clients of later revisions. */
    modernDefinition,
    /**
     * Runs the tool. If a failure has a reason that the assistant can use, it becomes a result with `isError`.
     *
     * @throws RpcError −32029 beyond a rate limit; every unexpected error
     */
    call: async (given: unknown, call: ToolCall): Promise<CalledTool> => {
      const { requestId, note, onReplayed } = call;
      try {
        const parsed = contract.safeParse(given);
        if (!parsed.success) {
          // The same items as in a 422 of the REST API, but without `input`: the assistant knows its input, and each word costs it money.
          const detail = validationItems(parsed.error, given, ['arguments']).map(({ input, ...item }) => item);
          note(validationFault(detail));
          return failed({ detail });
        }
        const { answer, isReplayed } = await run(parsed.data, call);
        if (isReplayed) onReplayed();
        const structuredContent = answer as Readonly<Record<string, unknown>>;
        return { result: { content: contentOf(answer), structuredContent, isError: false }, links: linksOf(answer, call.links) };
      } catch (error) {
        if (!(error instanceof ServiceError)) throw error;
        if (statusOf[error.code] === 429) throw rateLimitError(error, requestId);
        note(faultOf(error));
        const { retryAfterSeconds: wait } = error;
        return failed({ ...errorBody(error, requestId), ...(wait !== undefined && { retry_after_seconds: wait }) });
      }
    },
  };
}

/** A result (M5), and its links, for revisions that support them. */
export interface CalledTool {
  /**
   * The same object twice, as text for the assistant and as data for the program. An error is only text: clients check data against the tool's
   * `outputSchema`, and would hide the reason.
   */
  readonly result: {
    readonly content: ReturnType<typeof contentOf>;
    readonly structuredContent?: Readonly<Record<string, unknown>>;
    readonly isError: boolean;
  };
  readonly links: readonly ResourceLink[];
}

const contentOf = (said: object) => [{ type: 'text', text: JSON.stringify(said) }] as const;
const failed = (reason: object): CalledTool => ({ result: { content: contentOf(reason), isError: true }, links: [] });

/** A page or file that belongs to a result, with an absolute address. */
interface ResourceLink {
  readonly uri: string;
  readonly name: string;
  readonly mimeType: string;
}

export type Links = ReturnType<typeof linksUnder>;

/** Makes the URLs in the answers of tools. They are absolute, because an assistant may show them anywhere. */
export function linksUnder(baseUrl: string) {
  const absolute = (path: string) => (path.startsWith('/') ? `${baseUrl}${path}` : path);
  const link = (path: string, name: string, mimeType: string): ResourceLink => ({ uri: absolute(path), name, mimeType });
  return {
    absolute,
    page: (path: string, name: string) => link(path, name, 'text/html'),
    workflowPage: (id: string) => link(workflowPath(id), `Page of workflow ${id}`, 'text/html'),
    bundle: (id: string) => link(evidencePath(id, 'zip'), `workflow-${id}.zip`, 'application/zip'),
    /** The page of a stamp, and its evidence record if the provider is known and is not the mock, whose stamps have none. */
    stamp: (tokenId: string, provider: string | null) => [
      link(verifyPath(tokenId), `Page of stamp ${tokenId}`, 'text/html'),
      ...(provider === mockProviderName || provider === null
        ? []
        : [link(`${verifyPath(tokenId)}/evidence`, `${tokenId}.ers`, 'application/octet-stream')]),
    ],
  };
}

type CallGuards = ReturnType<typeof guardsOf>;

/** The rate limits of the REST API, for a tool call. They use the same counters. A product's verifications are not counted. */
export const guardsOf = (
  { mistakes, productLimit, outputLimit }: ServerContext,
  mailLimits: ReturnType<typeof createMailLimits>,
  request: FastifyRequest,
  reply: FastifyReply,
) => ({
  /** Counts stamps of the product. @throws ServiceError `rate_limited` */
  stamps: (count: number) => productLimit.items(request, reply, count),
  /** Counts the start of a workflow, and the mail to its client. @throws ServiceError `rate_limited`, and see `createMailLimits` */
  start: (email: string) => mailLimits.start(request, reply, email),
  /** Counts outputs of a workflow. @throws ServiceError `rate_limited` */
  outputs: (workflowId: string, count: number) => outputLimit.items(request, reply, count, workflowId),
  /** Runs `work`, and counts a mistake if it fails because of a wrong workflow token or an unknown id (R5). */
  lookUp: <Answer>(work: () => Promise<Answer>) => mistakes.guard(request, reply, work),
});

/**
 * The JSON Schema of a tool's arguments, only with keywords that all assistants know: without `$schema`, and without `null` beside another type.
 * Optional arguments may be null, but several assistants refuse a tool whose schema says so.
 */
const inputSchemaOf = (contract: z.ZodType) => schemaOf(contract, { io: 'input', override: ({ jsonSchema }) => dropNull(jsonSchema) });

/** The JSON Schema (2020-12) of a tool's answer. Later releases may add members. */
const answerSchemaOf = (contract: z.ZodType) =>
  schemaOf(contract, {
    io: 'output',
    unrepresentable: 'any',
    override: ({ jsonSchema }) => {
      if (jsonSchema.additionalProperties === false) delete jsonSchema.additionalProperties;
      if (jsonSchema.format !== undefined) delete jsonSchema.pattern;
    },
  });

/** Describes schemas without their names (`id`): several assistants refuse a tool with names or references. */
const unnamed = Object.assign(new z.core.$ZodRegistry<z.core.GlobalMeta>(), {
  get: (schema: z.core.$ZodType) => {
    const { id, ...described } = z.globalRegistry.get(schema) ?? {};
    return described;
  },
});

function schemaOf(contract: z.ZodType, params: z.core.ToJSONSchemaParams): Readonly<Record<string, unknown>> {
  const { $schema, ...schema } = z.toJSONSchema(contract, { metadata: unnamed, ...params });
  return JSON.parse(JSON.stringify(schema), (name, value) => {
    // Some clients do not support a list in `type`, so it becomes an `anyOf` with one type in each branch.
    if (Array.isArray(value?.type)) {
      const { type, ...rest } = value;
      return { ...rest, anyOf: type.map((one: unknown) => ({ type: one })) };
    }
    // An empty schema means the same as `true`, and more clients accept `true`.
    return name === 'additionalProperties' && Object.keys(value).length === 0 ? true : value;
  });
}

function dropNull(schema: z.core.JSONSchema.BaseSchema): void {
  if (Array.isArray(schema.type)) schema.type = schema.type.filter((type) => type !== 'null')[0] ?? 'null';
  const branches = schema.anyOf?.filter((branch) => typeof branch === 'boolean' || branch.type !== 'null');
  const [only] = branches ?? [];
  if (branches?.length !== 1 || typeof only !== 'object') return;
  delete schema.anyOf;
  Object.assign(schema, { ...only, ...schema });
}
