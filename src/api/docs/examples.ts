import { version } from '../../shared/contract/version.ts';

const tokenId = '01938f2e-5a3c-7d41-9c0e-2f6b8a417e55';
const workflowId = '01938f2e-7b10-4c22-8d33-b0a94e1f6c77';
const hash = '2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824';
const token = 'cXN0YW1wLW1vY2stdG9rZW4=';

const requestId = '7f0c1f1e-3f8d-4a57-9d62-6a1de0b9a3c4';

export type JsonSchema = Readonly<Record<string, unknown>>;

/**
 * Makes an example of a schema in the OpenAPI document. Objects have the members that are always there. A member has the example of its name, of its
 * schema, or else the first value that its schema allows. A text that may be null is null.
 */
export function exampleOf(schema: JsonSchema, components: Readonly<Record<string, JsonSchema>>, field = ''): unknown {
  const name = String(schema.$ref ?? '').replace(/^.*\//, '');
  if (name in bySchema) return bySchema[name];
  if (name !== '') return exampleOf(components[name]!, components, field);
  const { type, properties, required = [], items, anyOf, examples, enum: choices = [] } = schema as Partial<ObjectSchema>;
  if (properties) return Object.fromEntries(required.map((member) => [member, exampleOf(properties[member]!, components, member)]));
  if (items) return [exampleOf(items, components, field)];
  if ('const' in schema || choices.length > 0) return schema.const ?? choices[0];
  if (field in byField) return byField[field];
  if (examples) return examples[0];
  if (anyOf) {
    const isNull = anyOf.some((each) => each.type === 'null') && Object.keys(anyOf[0]!).join() === 'type' && anyOf[0]!.type === 'string';
    return isNull ? null : exampleOf(anyOf[0]!, components, field);
  }
  if (type === 'string') return schema.minLength === hash.length ? hash : (byFormat[String(schema.format)] ?? 'text');
  if (type === 'boolean') return false;
  return type === 'object' ? {} : (schema.minimum ?? 0);
}

interface ObjectSchema {
  readonly type: string;
  readonly properties: Readonly<Record<string, JsonSchema>>;
  readonly required: readonly string[];
  readonly items: JsonSchema;
  readonly anyOf: readonly JsonSchema[];
  readonly examples: readonly unknown[];
  readonly enum: readonly unknown[];
}

const byFormat: Readonly<Record<string, string>> = { uuid: tokenId, 'date-time': '2026-11-21T12:00:00.000Z', date: '2026-11-21' };

/** Examples of members and parameters, where one with their name says more than any value of their type. */
export const byField: Readonly<Record<string, unknown>> = {
  ...{
    token_id: tokenId,
    workflow_id: workflowId,
    verify_url: `/api/v1/verify/v1/token/${tokenId}`,
    status_url: `/api/v1/workflow/${workflowId}`,
  },
  ...{ valid: true, token, content_sha256: hash, issued_at: byFormat['date-time'], is_qualified: true, tsp_provider: 'acme-tsa' },
  ...{
    provider: 'acme-tsa',
    name: 'acme-tsa',
    version,
    otp_sent_to: 'erika@example.com',
    user_email: 'erika@example.com',
    status: 'pending',
  },
  ...{ workflow_token: 'returned-once-keep-it-secret', workflow_anchor_url: `/workflow/${workflowId}`, agent_id: 'layout-agent' },
  ...{ currency: 'EUR', amount: '0.00', path: '/api/v1/agent/v1/stamp/basic', free: 'GET /api/v1/verify/v1/token/{token_id}' },
  ...{ output_type: 'image', output_count: 1, total: 1, text: '{}', preimage: `00${hash}`, territory: 'SE', subject: 'CN=Example' },
  ...{
    algorithm: 'sha256',
    digest: hash,
    openapi: '3.1.0',
    detail: 'Accepted, and not finished in time.',
    code: 'stamp_pending',
    request_id: requestId,
  },
};

/** Examples of schemas with optional members, of protocols, and of answers in which a member means something else. */
const bySchema: Readonly<Record<string, unknown>> = {
  StampRequest: { hash, tier: 'basic', metadata: { project: 'aurora' } },
  RawVerifyRequest: { token, hash },
  WorkflowStampResponse: {
    ...{ output_id: '01938f2e-9d52-7b03-a1f4-6e5d4c3b2a10', sequence_number: 1, stamp_token_id: tokenId },
    ...{ verify_url: `/workflow/${workflowId}#output-1`, workflow_anchor_url: `/workflow/${workflowId}` },
  },
  WorkflowCompleteResponse: {
    ...{ workflow_id: workflowId, status: 'completed', output_count: 1, verify_url: `/workflow/${workflowId}` },
    completed_at: byFormat['date-time'],
  },
  /** Its code depends on the operation. */
  Error: undefined,
  RpcRequest: {
    ...{ jsonrpc: '2.0', id: 1, method: 'tools/call' },
    params: { name: 'service_stamp_hash', arguments: { sha256_hex: hash } },
  },
  RpcResponse: { jsonrpc: '2.0', id: 1, result: { content: [{ type: 'text', text: '{}' }], structuredContent: {}, isError: false } },
  HTTPValidationError: {
    detail: [
      {
        ...{ type: 'string_too_short', loc: ['body', 'hash'], msg: 'String should have at least 64 characters', input: 'abc' },
        ctx: { min_length: 64 },
      },
    ],
  },
};
