/** One call of one operation, and what must come of it. A text `$name` stands for what an earlier step has kept. */
export interface Step {
  /** `operationId` of the OpenAPI document. */
  readonly operation: string;
  readonly token?: 'service' | 'workflow';
  readonly path?: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, string | number>>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: object;
  /** In place of it: bytes, base64. */
  readonly content?: string;
  readonly status: number;
  /** Members of the answer that must be so. */
  readonly answer?: Readonly<Record<string, unknown>>;
  /** Bytes that the answer must be, base64; empty: some bytes. */
  readonly bytes?: string;
  /** Names for members of the answer; of an address (`…_url`) only its last segment is kept. */
  readonly keep?: Readonly<Record<string, string>>;
}

const hash = '2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824';
const content = 'aGVsbG8=';
const byId = { path: { token_id: '$tokenId' }, status: 200 } as const;
const service = { token: 'service' } as const;
const workflow = { token: 'workflow', path: { workflow_id: '$workflowId' } } as const;
const sealed = { path: { token_id: '$sealedId', secret: '$secret' } } as const;
const strangeStopLink = { path: { token: `${'A'.repeat(43)}.${'A'.repeat(22)}` } } as const;
const later = { headers: { prefer: 'respond-async' }, status: 202 } as const;
const accepted = { status: 'accepted' };
const once = { ...service, headers: { 'idempotency-key': '$run' }, body: { hash, tier: 'plus', metadata: { project: 'aurora' } } } as const;
const toStart = { user_email: 'erika@example.com', agent_id: 'stranger', briefing_hash: hash };
const output = { output_hash: hash, output_type: 'text' };
const toolCall = { name: 'service_stamp_hash', arguments: { sha256_hex: hash } };

/** Every operation of the document once or more, as a stranger would use them. */
export const scenario: readonly Step[] = [
  { operation: 'readOpenApi', status: 200, answer: { openapi: '3.1.0' } },
  { operation: 'showDocsPage', status: 200 },
  { operation: 'readLlmsText', status: 200 },
  { operation: 'showStartPage', status: 200 },
  { operation: 'showMeaningPage', status: 200 },
  { operation: 'showVerifyForm', status: 200 },
  { operation: 'checkHealth', status: 200 },
  { operation: 'checkLiveness', status: 200, answer: { status: 'ok' } },
  { operation: 'checkReadiness', status: 200, answer: { status: 'ready' } },
  { operation: 'readStatus', status: 200 },
  { operation: 'showStatusPage', status: 200 },
  { operation: 'downloadTrustedList', path: { sha256: hash }, status: 404 },
  { operation: 'readPricing', status: 200, answer: { payment_required: false } },

  {
    operation: 'stampInternal',
    ...once,
    status: 201,
    answer: { content_sha256: hash, tier: 'plus' },
    keep: { tokenId: 'token_id', token: 'token' },
  },
  { operation: 'stampInternal', ...once, status: 201, answer: { token_id: '$tokenId' } },
  { operation: 'stampInternal', ...service, body: { hash: 'abc' }, status: 422 },
  { operation: 'stampInternal', ...service, ...later, body: { hash }, answer: accepted },
  { operation: 'verifyInternal', ...service, body: { token: '$token' }, status: 200, answer: { valid: true, token_id: '$tokenId' } },
  { operation: 'listStamps', ...service, query: { limit: 1, offset: 0 }, status: 200 },
  { operation: 'readDailyStatistics', ...service, query: { days: 1 }, status: 200 },
  {
    operation: 'stampAgentBasic',
    headers: { 'x-payment-transaction': 'none' },
    body: { hash },
    status: 201,
    answer: { content_sha256: hash, tier: 'basic' },
  },
  { operation: 'stampAgentBatch', body: [{ hash }, { hash: content }], status: 200 },
  { operation: 'stampInternalBatch', ...service, body: [{ hash, tier: 'plus' }], status: 200 },
  { operation: 'stampInternalBatch', ...service, ...later, body: [{ hash }, { hash: content }] },
  { operation: 'stampAgentPlus', body: { hash }, status: 201, answer: { tier: 'plus' } },
  {
    operation: 'stampAgentSealed',
    body: { content_b64: content },
    status: 201,
    answer: { content_sha256: hash, tier: 'sealed' },
    keep: { sealedId: 'token_id', secret: 'sealed_storage_url' },
  },
  { operation: 'downloadSealedContent', ...sealed, status: 200, bytes: content },
  { operation: 'downloadSealedContainer', ...sealed, status: 200, bytes: '' },
  { operation: 'renewSealedEvidence', ...sealed, status: 202, answer: { is_renewed: false } },
  { operation: 'renewEvidence', path: byId.path, content, status: 202, answer: { token_id: '$tokenId', is_renewed: false } },
  { operation: 'verifyToken', ...byId, answer: { valid: true, content_sha256: hash } },
  { operation: 'verifyRawToken', body: { token: '$token', hash }, status: 200, answer: { valid: true } },
  { operation: 'verifyForm', body: { token: '$token' }, status: 200 },
  { operation: 'downloadTimeStampResponse', ...byId, bytes: '' },
  { operation: 'downloadTimeStampRequest', ...byId, bytes: '' },
  { operation: 'downloadTimeStampToken', ...byId, bytes: '' },
  { operation: 'downloadEvidenceRecord', ...byId, bytes: '' },
  { operation: 'downloadCoseHeaders', ...byId, bytes: '' },
  { operation: 'downloadReceiptKey', status: 200, bytes: '' },

  {
    operation: 'startWorkflow',
    body: toStart,
    status: 201,
    answer: { status: 'pending', otp_sent_to: 'erika@example.com' },
    keep: { workflowId: 'workflow_id', workflowToken: 'workflow_token' },
  },
  { operation: 'readWorkflow', ...workflow, status: 200, answer: { status: 'pending', agent_id: 'stranger' } },
  { operation: 'resendWorkflowLink', ...workflow, status: 202 },
  { operation: 'verifyWorkflowUser', path: workflow.path, query: { challenge: 'A'.repeat(43) }, status: 403 },
  { operation: 'completeWorkflowVerification', path: workflow.path, query: { challenge: 'A'.repeat(43) }, status: 403 },
  { operation: 'openMailedLink', path: { ...workflow.path, challenge: 'A'.repeat(43) }, status: 403 },
  { operation: 'confirmMailedLink', path: { ...workflow.path, challenge: 'A'.repeat(43) }, status: 403 },
  { operation: 'mailNewLink', path: workflow.path, status: 409 },
  { operation: 'showMailStop', ...strangeStopLink, status: 404 },
  { operation: 'stopMails', ...strangeStopLink, status: 404 },
  {
    operation: 'stampWorkflowOutput',
    ...workflow,
    body: { ...output, output_metadata: { page: 1 } },
    status: 201,
    answer: { sequence_number: 1 },
  },
  { operation: 'stampWorkflowOutputs', ...workflow, body: [{ output_hash: hash, output_type: 'code' }], status: 200 },
  { operation: 'stampWorkflowOutput', ...workflow, ...later, body: output, answer: accepted },
  { operation: 'stampWorkflowOutputs', ...workflow, ...later, body: [output] },
  { operation: 'completeWorkflow', ...workflow, status: 200, answer: { status: 'completed', output_count: 4 } },
  { operation: 'showWorkflowPage', path: workflow.path, status: 200 },
  {
    operation: 'listWorkflowOutputs',
    path: workflow.path,
    query: { first: 1, limit: 10 },
    status: 200,
    answer: { workflow_id: '$workflowId' },
  },
  { operation: 'readClosingRecord', path: workflow.path, status: 200 },
  { operation: 'readInclusionProof', path: { ...workflow.path, number: '1' }, status: 200, answer: { workflow_id: '$workflowId' } },
  { operation: 'readInclusionProofByHash', path: workflow.path, query: { output_hash: hash }, status: 200 },
  { operation: 'readConsistencyProof', path: workflow.path, query: { first: 1, second: 1 }, status: 200 },
  { operation: 'downloadEvidenceBundle', path: workflow.path, status: 200, bytes: '' },
  { operation: 'readEvidence', path: workflow.path, status: 200, answer: { workflow_id: '$workflowId' } },
  { operation: 'redactWorkflow', ...workflow, status: 200, answer: { user_email: '[REDACTED]' } },

  {
    operation: 'callMcp',
    ...service,
    body: { jsonrpc: '2.0', id: 1, method: 'tools/call', params: toolCall },
    status: 200,
    answer: { id: 1 },
  },
];
