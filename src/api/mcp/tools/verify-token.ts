import { verifyTokenArguments } from '../../../shared/contract/mcp.ts';
import { verificationResult } from '../../../shared/contract/verify.ts';
import type { Verification } from '../../services/verification.ts';
import { createTool, type Tool } from './tool.ts';

export function createVerifyTokenTool({ verification }: { readonly verification: Pick<Verification, 'byId' | 'raw'> }): Tool {
  return createTool({
    name: 'service_verify_token',
    description:
      'Verify a time-stamp cryptographically, by exactly one of token_id (the id of a stamp of this service) and token (the opaque ' +
      'token of a stamp, or any RFC 3161 time-stamp token in base64). Returns valid; when true, issued_at, content_sha256 (compare ' +
      'it with the SHA-256 of the content in question), tsp_provider and is_qualified; when false, a reason.',
    annotations: { title: 'Verify a time-stamp', readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
    arguments: verifyTokenArguments,
    answer: verificationResult,
    isOfContract: true,
    run: async ({ token_id, token }) => (typeof token_id === 'string' ? verification.byId(token_id) : verification.raw(token ?? '')),
  });
}
