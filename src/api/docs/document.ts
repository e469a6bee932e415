import { z } from 'zod';
import { errorResponse, httpValidationError } from '../../shared/contract/error.ts';
import { maxMetadataBytes } from '../../shared/contract/fields.ts';
import { type ErrorCode, statusOf } from '../../shared/domain/service-error.ts';
import { maxNesting } from '../http/json-body.ts';
import type { AnswerContract, OperationContract } from '../http/operation.ts';
import { byField, exampleOf, type JsonSchema } from './examples.ts';

export interface DescribedRoute {
  readonly method: string;
  /** In Fastify's notation: `/token/:token_id`. */
  readonly url: string;
  readonly contract: OperationContract;
}

/** Describes the routes, in their order, as an OpenAPI 3.1 document. */
export function describeApi(routes: readonly DescribedRoute[], { version }: { version: string }): object {
  const collector = createSchemaCollector();
  const paths: Record<string, Record<string, object>> = {};
  for (const route of routes) {
    const path = route.url.replace(/:(\w+)/g, '{$1}');
    paths[path] = { ...paths[path], [route.method.toLowerCase()]: describeOperation(collector, route) };
  }
  return {
    openapi: '3.1.0',
    info: { title: 'qstamp', version, description: guide, license: { name: 'MIT', identifier: 'MIT' } },
    servers: [{ url: '/' }],
    tags: [...new Set(routes.map(({ contract }) => contract.tag))].map((name) => ({ name })),
    paths,
    components: { securitySchemes, schemas: collector.components },
  };
}

function describeOperation(collector: SchemaCollector, { contract }: DescribedRoute): object {
  const parameters = [
    ...describeParameters(collector, 'path', contract.path),
    ...describeParameters(collector, 'query', contract.query),
    ...describeParameters(collector, 'header', contract.headers),
  ];
  const body = contract.body && collector.schemaOf(contract.body, 'input');
  const isJson = contract.bodyTypes === undefined || contract.bodyTypes.includes('application/json');
  const example = body && (contract.bodyExample ?? (isJson ? exampleOf(body, collector.components) : undefined));
  return {
    operationId: contract.id,
    tags: [contract.tag],
    summary: contract.summary,
    ...(contract.description !== undefined && { description: contract.description }),
    security: describeSecurity(contract),
    ...(parameters.length > 0 && { parameters }),
    ...(body && {
      requestBody: {
        required: true,
        content: Object.fromEntries(
          (contract.bodyTypes ?? ['application/json']).map((type) => [type, { schema: body, ...(example !== undefined && { example }) }]),
        ),
      },
    }),
    responses: describeAnswers(collector, contract),
  };
}

/** Turns the members of an object schema into path, query or header parameters. */
function describeParameters(collector: SchemaCollector, place: 'path' | 'query' | 'header', schema: z.ZodType | undefined): object[] {
  if (!(schema instanceof z.ZodObject)) return [];
  const { properties = {}, required = [] } = collector.schemaOf(schema, 'input') as {
    properties?: Record<string, JsonSchema>;
    required?: string[];
  };
  return Object.entries(properties).map(([name, { description, ...rest }]) => ({
    name,
    in: place,
    required: place === 'path' || required.includes(name),
    ...(typeof description === 'string' && { description }),
    schema: rest,
    ...(rest.format === 'uuid' && { example: byField[name] }),
  }));
}

function describeSecurity({ authentication, isTokenOptional }: OperationContract): object[] {
  if (authentication === undefined) return [];
  const scheme = authentication === 'service' ? 'ServiceToken' : 'WorkflowToken';
  return [{ [scheme]: [] }, ...(isTokenOptional ? [{}] : [])];
}

function describeAnswers(collector: SchemaCollector, contract: OperationContract): object {
  const byStatus = Map.groupBy(new Set([...impliedErrors(contract), ...(contract.errors ?? [])]), (code) => statusOf[code]);
  const failures = [...byStatus].map(([status, codes]) => [status, describeFailure(collector, status, codes)]);
  const readsInput = !contract.isJudgedElsewhere && (contract.path ?? contract.query ?? contract.headers ?? contract.body);
  const invalid = { description: descriptionOfStatus[422] ?? '', content: { 'application/json': httpValidationError } };
  return {
    ...Object.fromEntries(failures),
    ...(readsInput && { 422: describeContent(collector, invalid) }),
    ...Object.fromEntries(Object.entries(contract.answers).map(([status, answer]) => [status, describeContent(collector, answer)])),
    default: describeFailure(collector, 500, ['internal_error', 'bad_request', 'request_timeout']),
  };
}

/** The failures that follow from the contract itself: they are possible for every route that needs a token or has a body. */
function impliedErrors({ body, authentication, isTokenOptional }: OperationContract): ErrorCode[] {
  return [
    ...(authentication && !isTokenOptional ? (['unauthorized'] as const) : []),
    ...(body ? (['payload_too_large', 'unsupported_media_type', 'overloaded'] as const) : []),
  ];
}

function describeFailure(collector: SchemaCollector, status: number, codes: readonly ErrorCode[]): object {
  const headers = headersOfStatus[status];
  const words = codes.map((code) => `\`${code}\``).join(', ');
  const answer = {
    description: `${descriptionOfStatus[status] ?? 'Anything else that goes wrong.'} ${codes.length > 1 ? 'Codes' : 'Code'}: ${words}.`,
    content: { 'application/json': errorResponse },
    ...(headers && { headers }),
  };
  return describeContent(collector, answer, codes[0]);
}

const textTypes = ['text/html', 'text/plain', 'application/x-ndjson'];

/** Describes an answer. Its example belongs to the schema or, for a failure, to `code`. */
function describeContent(collector: SchemaCollector, answer: AnswerContract, code?: ErrorCode): object {
  const { content, headers, description } = answer;
  const media = Object.entries(content ?? {}).map(([type, described]) => {
    if (described === null) return [type, { schema: textTypes.includes(type) ? { type: 'string' } : { type: 'string', format: 'binary' } }];
    const schema = collector.schemaOf(described, 'output');
    const example = code
      ? {
          detail: descriptionOfStatus[statusOf[code]]?.replaceAll('`', '') ?? 'Something went wrong.',
          code,
          request_id: byField.request_id,
        }
      : (answer.example ?? exampleOf(schema, collector.components));
    return [type, { schema, ...(example !== undefined && { example }) }];
  });
  const shown = Object.entries(headers ?? {}).map(([name, meaning]) => [name, { description: meaning, schema: { type: 'string' } }]);
  return { description, ...(headers && { headers: Object.fromEntries(shown) }), ...(content && { content: Object.fromEntries(media) }) };
}

const refPrefix = '#/components/schemas/';

type SchemaCollector = ReturnType<typeof createSchemaCollector>;

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null && !Array.isArray(value);

/**
 * Makes references point to the components of the document instead of `$defs`. Replaces a list in `type` by an `anyOf` with one type in each branch,
 * because some code generators do not support such a list.
 */
function adapted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(adapted);
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => {
      if (name === '$ref' && typeof member === 'string') return [name, member.replace('#/$defs/', refPrefix)];
      // Zod writes a list only for types without constraints, so nothing else needs to move into the branches.
      if (name === 'type' && Array.isArray(member)) return ['anyOf', member.map((type) => ({ type }))];
      return [name, adapted(member)];
    }),
  );
}

/** Creates a collector of the named schemas of a document, for use while its operations are described. */
export function createSchemaCollector() {
  const components: Record<string, JsonSchema> = {};

  /** The JSON Schema of a request (`input`) or an answer (`output`): a reference if the schema has a name. */
  function schemaOf(schema: z.ZodType, io: 'input' | 'output'): JsonSchema {
    const converted = z.toJSONSchema(schema, {
      io,
      target: 'draft-2020-12',
      unrepresentable: 'any',
      override: ({ zodSchema, jsonSchema }) => {
        // A pattern beside a format is redundant. The bounds of safe integers are removed because they do not help a reader.
        if (jsonSchema.format !== undefined) delete jsonSchema.pattern;
        if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum;
        if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
        const fallback = z.globalRegistry.get(zodSchema)?.default;
        if (fallback !== undefined) jsonSchema.default = fallback as typeof jsonSchema.default;
      },
    });
    const { $schema, $defs, id, ...body } = adapted(converted) as Record<string, unknown>;
    for (const [name, definition] of Object.entries(($defs ?? {}) as Record<string, JsonSchema>)) {
      const { id: _, ...rest } = definition;
      components[name] ??= rest;
    }
    if (typeof id !== 'string') return body;
    components[id] ??= body;
    return { $ref: `${refPrefix}${id}` };
  }
  return { schemaOf, components };
}

const securitySchemes = {
  ServiceToken: { type: 'apiKey', in: 'header', name: 'X-Service-Token', description: 'A service token. It identifies a product.' },
  WorkflowToken: {
    type: 'apiKey',
    in: 'header',
    name: 'Authorization',
    description: '`Workflow <WORKFLOW_TOKEN>`: the workflow token. Only the answer to the start of the workflow contains it.',
  },
} as const;

const descriptionOfStatus: Readonly<Record<number, string>> = {
  401: 'The token is missing or not valid.',
  403: 'Refused.',
  404: 'There is nothing at this address.',
  409: 'The request conflicts with the current state.',
  410: 'It existed and is gone.',
  413: 'The body is too large.',
  415: 'The body has a content coding.',
  422: 'The request breaks its contract; the answer names every issue.',
  429: 'Too many requests; come back after `Retry-After` seconds.',
  502: 'No provider could make the stamp.',
  503: 'The queue or the store cannot be reached, or too many jobs wait; come back after `Retry-After` seconds.',
  504: 'Accepted, or perhaps accepted, and not finished in time. The answer names the address where the outcome can be read.',
};

const headersOfStatus: Readonly<Record<number, Readonly<Record<string, string>>>> = {
  401: { 'WWW-Authenticate': 'The scheme to use.' },
  429: {
    'Retry-After': 'Seconds.',
    RateLimit: '`"name";r=0;t=30`: the limit, the requests that are left, and the seconds until its window ends.',
    'RateLimit-Policy': '`"name";q=600;w=60`: the limit, its requests in a window, and the seconds of a window.',
    'RateLimit-Limit': 'Requests in a window.',
    'RateLimit-Reset': 'Seconds until the window ends.',
  },
  503: { 'Retry-After': 'Seconds.' },
  504: { 'Retry-After': 'Seconds.' },
};

/** Rules that apply to many operations, in CommonMark. */
const guide = [
  'Makes time-stamps (RFC 3161) for hashes and content, verifies them, and closes the outputs of a workflow under one Merkle root.',
  'Stamps and verdicts have a few fixed fields. With `?details=true`, or the header `Prefer: return=details`, they also say who calls a stamp ' +
    'qualified, who signed it, and what was not checked.',
  '## Authentication',
  'Operations under `/api/v1/internal/`, and all tools of `/mcp`, need the header `X-Service-Token` with a service ' +
    'token. The token identifies a product. Each product can list its stamps.',
  'Operations on a workflow need `Authorization: Workflow <token>`. Only the answer to the start of the workflow contains this token. Agent stamping, ' +
    'verification, health, status and prices need no token.',
  'If a service token or workflow token is missing or wrong, the answer is 401 and `WWW-Authenticate` names the scheme. The service does not wait for a body ' +
    'that is still on its way.',
  '## Idempotency',
  'Every POST that stamps or works on a workflow takes the header `Idempotency-Key`: 1 to 255 printable characters without blanks, ' +
    'preferably a new UUID for each task. Without a service token or workflow token, it has at least 16. In `/mcp` it is `_meta.idempotency_key` of the call.',
  'If the same caller sends the same key and the same body, it gets the first answer again, with `Idempotent-Replayed: true`, and nothing is ' +
    'done twice. The same key with another body is 409. Keys are kept for 24 hours. A request with a key may be sent again after ' +
    '502, 503, 504 or a broken connection.',
  '## Limits',
  'Requests, by default: each address may send 600 requests a minute for agent stamping and 600 for verification, start 5 ' +
    'workflows an hour and read the status page 30 times a minute. Each workflow may have 100 stamps a minute. Answers ' +
    'carry `RateLimit` and `RateLimit-Policy`, and also `RateLimit-Limit`, `RateLimit-Remaining` and `RateLimit-Reset` of an older draft. Beyond ' +
    'the limit: 429 with `Retry-After` in seconds.',
  'Sizes: sealed content 10 MiB when decoded, by default; a body with a token to verify 3 MiB; a batch 6 MiB; other bodies 64 KiB (413). Metadata ' +
    `${maxMetadataBytes / 1024} KiB as UTF-8 JSON, with values nested up to ${maxNesting} levels (422). A list shows at most 500 stamps, ` +
    'from an offset of at most 100 000. A batch of `/mcp` holds at most 100 messages.',
  '## Errors',
  '422 says what is wrong with a request: `detail` is a list, each item with `loc`, `msg` and `type`. Every other error is ' +
    '`{"detail", "code", "request_id"}`: a sentence for people, a word for programs that never changes its meaning, and the id of the ' +
    'request in our logs.',
  '502: no provider could make the stamp, and nothing was made. 503: nothing was accepted; come back after `Retry-After` seconds. ' +
    '504: accepted and not finished in time; the answer contains `token_id` and `verify_url`, where the stamp becomes readable.',
].join('\n\n');
