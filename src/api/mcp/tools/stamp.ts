import { stampContentArguments, stampHashArguments, verifyTokenArguments } from '../../../shared/contract/mcp.ts';
import { type StampOrder, type StampRequest, type StampToken, stampRequestFor, stampToken } from '../../../shared/contract/stamp.ts';
import { verificationResult } from '../../../shared/contract/verify.ts';
import { type StampTools, stampOne } from '../../stamps/index.ts';
import { verifyById, verifyRaw } from '../../verification/index.ts';
import { isObject, RpcError, rpcErrors } from '../json-rpc.ts';
import { createTool, type Tool, type ToolCall } from './tool.ts';
import type { ToolServices } from './tool-services.ts';

const hashOrder = stampHashArguments
  .transform(({ sha256_hex, tier, metadata }): StampRequest => ({ hash: sha256_hex, tier, metadata }))
  .pipe(stampRequestFor());

export function createStampHashTool({ tools }: ToolServices): Tool {
  return createTool({
    name: 'service_stamp_hash',
    description:
      'Obtain a trusted time-stamp for a SHA-256 hash: proof that data with this hash existed at the time of the stamp. Only the ' +
      'hash is sent, never the content. Returns the stamp: token_id, issued_at, content_sha256, token, tier, tsp_provider, ' +
      'is_qualified (whether it is a qualified time-stamp under eIDAS; qualified.basis says who says so: a trusted list of the EU, or only the operator) and verify_url. Keep token_id or token; each is enough to verify the stamp.',
    annotations: { ...stampingAnnotations, title: 'Stamp a hash' },
    arguments: hashOrder,
    answer: stampToken,
    isOfContract: true,
    run: async (order, call) => stampFor(call, tools, order),
  });
}

/** The tool that stores content. The tier is always sealed: another one is −32602 (M3). */
export function createStampContentTool({ tools }: ToolServices): Tool {
  const { SEALED_MAX_BYTES: sealedMaxBytes } = tools.config;
  const order = stampRequestFor({ tier: 'sealed', sealedMaxBytes });
  const contentOrder = stampContentArguments
    .transform(({ content_b64, metadata }): StampRequest => ({ content_b64, metadata }))
    .pipe(order);
  const tool = createTool({
    name: 'service_stamp_content',
    description:
      `Store content of at most ${sealedMaxBytes} bytes and obtain a trusted time-stamp for its SHA-256 hash (tier sealed). Returns ` +
      'the stamp, with sealed_storage_url: a secret relative address; everybody who knows it can read the content. To keep the ' +
      'content to yourself, compute its SHA-256 and call service_stamp_hash instead.',
    annotations: { ...stampingAnnotations, title: 'Store and stamp content' },
    arguments: contentOrder,
    answer: stampToken,
    isOfContract: true,
    run: async (sealed, call) => stampFor(call, tools, sealed),
  });
  return {
    ...tool,
    call: async (given, call) => {
      const { tier = null } = isObject(given) ? given : {};
      if (tier === null || tier === 'sealed') return tool.call(given, call);
      throw new RpcError(rpcErrors.invalidParams, 'Invalid params: the tier of service_stamp_content is always sealed');
    },
  };
}

export function createVerifyTokenTool({ tools }: ToolServices): Tool {
  return createTool({
    name: 'service_verify_token',
    description:
      'Verify a time-stamp cryptographically. Give exactly one of token_id (the id of a stamp of this service) and token (the opaque ' +
      'token of a stamp, or any RFC 3161 time-stamp token in base64). Returns valid; when true, issued_at, content_sha256 (compare ' +
      'it with the SHA-256 of your content), tsp_provider and is_qualified; when false, a reason.',
    annotations: { title: 'Verify a time-stamp', readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
    arguments: verifyTokenArguments,
    answer: verificationResult,
    isOfContract: true,
    run: async ({ token_id, token }) => (typeof token_id === 'string' ? verifyById(tools, token_id) : verifyRaw(tools, token ?? '')),
  });
}

/** Hints to assistants about tools that stamp: they add data but never delete or change any, and the same call twice makes two stamps. */
export const stampingAnnotations = { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: true } as const;

/** Makes a stamp for the product of the call's service token. @throws the same ServiceErrors as `stampOne` */
async function stampFor(call: ToolCall, tools: StampTools, order: StampOrder): Promise<StampToken> {
  const { product, requestId, idempotencyKey, guards } = call;
  const { stamp, isReplayed } = await stampOne(tools, {
    order,
    caller: { kind: 'mcp', product },
    callerId: `product:${product}`,
    requestId,
    idempotencyKey,
    paymentClaim: undefined,
    passLimit: () => guards.stamps(1),
  });
  if (isReplayed) call.onReplayed();
  return stamp;
}
