const tokenId = '01938f2e-5a3c-7d41-9c0e-2f6b8a417e55';
const workflowId = '01938f2e-7b10-4c22-8d33-b0a94e1f6c77';
const hash = '2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824';
const mockToken = 'cXN0YW1wLW1vY2stdG9rZW4=';
const sha512 =
  '9b71d224bd62f3785d96d46ad3ea3d73319bfbc2890caadae2dff72519673ca72323c3d99ba5c11d7c7acc6e14b8c5da0c4663475c2e5c3adef46f73bcdec043';
const issuedAt = '2026-11-21T12:00:00.000Z';
const requestId = '7f0c1f1e-3f8d-4a57-9d62-6a1de0b9a3c4';
const verifyUrl = `/api/v1/verify/v1/token/${tokenId}`;
const unqualified = { status: 'not_qualified', basis: null, reason: 'mock_provider: The mock provider made it.' };
const provider = {
  name: 'mock',
  is_qualified: false,
  qualification: 'not_qualified',
  qualified: unqualified,
  status: 'operational',
  last_success_at: issuedAt,
  latency_ms: { p50: 2, p95: 9 },
  next_request_at: null,
};
const day = { stamps: 1_204, failed: 0, verifications: 3_371, workflows_started: 12, workflows_completed: 11, evidence_renewed: 0 };
const seal = { stamp_id: tokenId, issued_at: issuedAt, kind: 'token', token: 'MIIB', qualified: null };
const price = { amount: '0.00', currency: 'EUR' };

/** An example for each named schema. A test checks the examples against their schemas. */
const bySchema: Readonly<Record<string, unknown>> = {
  StampRequest: { hash, tier: 'basic', metadata: { project: 'aurora' } },
  StampToken: {
    token_id: tokenId,
    issued_at: issuedAt,
    content_sha256: hash,
    token: mockToken,
    tier: 'basic',
    tsp_provider: 'mock',
    is_qualified: false,
    verify_url: verifyUrl,
    sealed_storage_url: null,
  },
  StampListResponse: {
    items: [
      {
        token_id: tokenId,
        issued_at: issuedAt,
        tier: 'basic',
        content_sha256: hash,
        is_qualified: false,
      },
    ],
    total: 1,
  },
  VerifyRequest: { token: mockToken },
  RawVerifyRequest: { token: mockToken, hash },
  VerificationResult: {
    valid: true,
    token_id: tokenId,
    issued_at: issuedAt,
    content_sha256: hash,
    tsp_provider: 'acme-tsa',
    is_qualified: true,
    reason: null,
  },
  EvidenceRenewal: { token_id: tokenId, imprint: { algorithm: 'sha512', digest: sha512 }, is_renewed: false },
  DailyStats: [
    {
      date: '2026-11-21',
      provider: 'mock',
      is_qualified: false,
      caller_kind: 'agent',
      stamps: 312,
      failed: 0,
      latency_ms_p50: 3,
      latency_ms_p95: 11,
    },
  ],
  Health: { status: 'ok', version: '0.3.0', checks: { redis: 'ok', mongodb: 'ok', provider: 'ok', mail: 'ok' } },
  Liveness: { status: 'ok' },
  Readiness: { status: 'ready', checks: { redis: 'ok', mongodb: 'ok' } },
  Status: {
    status: 'operational',
    version: '0.3.0',
    time: issuedAt,
    uptime_seconds: 86_400,
    provider,
    providers: [provider],
    mail: { status: 'ok' },
    queue: { depth: 0, oldest_job_age_seconds: null, durability: 'every_write', failed_jobs: 0 },
    evidence: { last_run_at: issuedAt, due: 0, lapsed: 0, unknown: 0 },
    trusted_lists: [
      {
        territory: 'SE',
        state: 'current',
        sequence_number: 61,
        issued_at: issuedAt,
        next_update: '2027-04-21T12:00:00.000Z',
        sha256: hash,
        checked_at: issuedAt,
        reason: null,
      },
    ],
    counters: { last_24h: day, lifetime: { ...day, stamps: 98_213, verifications: 190_114 } },
  },
  Pricing: {
    version: '0.3.0',
    currency: 'EUR',
    payment_required: false,
    payment_header: 'x-payment-transaction',
    tiers: [{ tier: 'basic', method: 'POST', path: '/api/v1/agent/v1/stamp/basic', price, max_content_bytes: 0 }],
    free: ['GET /api/v1/verify/v1/token/{token_id}'],
    updated_at: '2026-11-21T00:00:00Z',
  },
  WorkflowStartRequest: { user_email: 'erika@example.com', agent_id: 'layout-agent', briefing_hash: hash, tier: 'standard' },
  WorkflowStartResponse: {
    workflow_id: workflowId,
    workflow_token: 'returned-once-keep-it-secret',
    otp_sent_to: 'erika@example.com',
    expires_at: '2026-11-28T12:00:00.000Z',
    status: 'pending',
  },
  WorkflowStampRequest: { output_hash: hash, output_type: 'image' },
  WorkflowStampResponse: {
    output_id: '01938f2e-9d52-7b03-a1f4-6e5d4c3b2a10',
    sequence_number: 1,
    stamp_token_id: tokenId,
    verify_url: `/workflow/${workflowId}#output-1`,
    workflow_anchor_url: `/workflow/${workflowId}`,
  },
  WorkflowCompleteResponse: {
    workflow_id: workflowId,
    status: 'completed',
    output_count: 1,
    verify_url: `/workflow/${workflowId}`,
    completed_at: '2026-11-21T12:30:00.000Z',
  },
  WorkflowOutputs: {
    workflow_id: workflowId,
    status: 'active',
    briefing_hash: hash,
    output_count: 1,
    chain_hash: hash,
    merkle_root: null,
    root_stamp_id: null,
    closing_record: null,
    outputs: [{ sequence_number: 1, output_hash: hash, chain_hash: hash, output_type: 'image', stamp_id: tokenId }],
    next: null,
  },
  ClosingRecord: {
    agent_commitment: hash,
    briefing_hash: hash,
    chain_hash: hash,
    completed_at: '2026-11-21T12:30:00.000Z',
    confirmed_at: null,
    created_at: issuedAt,
    email_commitment: hash,
    format: 'qstamp-closing-record/1',
    merkle_root: hash,
    output_count: 1,
    tier: 'standard',
    workflow_id: workflowId,
  },
  EvidenceSeal: seal,
  EvidenceDocument: {
    format: 'qstamp-evidence/1',
    workflow_id: workflowId,
    closing_record: { text: '{}', hash, stamp: seal },
    root: { hash, preimage: `00${hash}`, stamp: seal },
    outputs: [
      {
        sequence_number: 1,
        output_hash: hash,
        chain_hash: hash,
        output_type: 'image',
        inclusion_path: [],
        stamp_id: tokenId,
        kind: 'token',
        token: 'MIIB',
      },
    ],
    certificates: [{ role: 'trust_anchor', subject: 'CN=Example', sha256: hash, pem: '-----BEGIN CERTIFICATE-----' }],
    revocation_lists: [],
  },
  InclusionProof: {
    workflow_id: workflowId,
    sequence_number: 1,
    output_hash: hash,
    leaf_index: 0,
    tree_size: 2,
    root_hash: hash,
    inclusion_path: [hash],
    root_stamp: null,
    closing_record: null,
  },
  ConsistencyProof: {
    workflow_id: workflowId,
    first_size: 1,
    first_root_hash: hash,
    second_size: 2,
    second_root_hash: hash,
    consistency_path: [hash],
    root_stamp: null,
    closing_record: null,
  },
  VerifyUserResponse: { workflow_id: workflowId, status: 'active' },
  WorkflowRedactResponse: { workflow_id: workflowId, status: 'active', user_email: '[REDACTED]' },
  RpcRequest: {
    jsonrpc: '2.0',
    id: 1,
    method: 'tools/call',
    params: { name: 'service_stamp_hash', arguments: { sha256_hex: hash } },
  },
  RpcResponse: { jsonrpc: '2.0', id: 1, result: { content: [{ type: 'text', text: '{}' }], structuredContent: {}, isError: false } },
  HTTPValidationError: {
    detail: [
      {
        type: 'string_too_short',
        loc: ['body', 'hash'],
        msg: 'String should have at least 64 characters',
        input: 'abc',
        ctx: { min_length: 64 },
      },
    ],
  },
};

const byParameter: Readonly<Record<string, unknown>> = { token_id: tokenId, workflow_id: workflowId };

/** The examples in the OpenAPI document. */
export const examples = {
  requestId,
  hash,
  token: mockToken,
  of: (schema: string): unknown => bySchema[schema],
  ofParameter: (name: string): unknown => byParameter[name],
  schemas: bySchema,
};
