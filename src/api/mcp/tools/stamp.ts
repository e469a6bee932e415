import {
  stampContentArguments,
  stampFilesAnswer,
  stampFilesArguments,
  stampHashArguments,
  verifyTokenArguments,
} from '../../../shared/contract/mcp.ts';
import { type StampOrder, type StampRequest, type StampToken, stampRequestFor, stampToken } from '../../../shared/contract/stamp.ts';
import { verificationResult } from '../../../shared/contract/verify.ts';
import { ServiceError } from '../../../shared/domain/service-error.ts';
import { sha256Imprint } from '../../../shared/domain/stamp.ts';
import { madeOf, type StampTools, stampAll, stampOne } from '../../stamps/index.ts';
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

/** For more files than this the answer has no links, because the assistant must read all of them. */
const mostLinked = 10;

export function createStampFilesTool({ tools, links }: ToolServices): Tool {
  const describeMade = ({ token_id, issued_at, tsp_provider, is_qualified, qualified, verify_url }: StampToken) => ({
    token_id,
    issued_at,
    tsp_provider,
    is_qualified,
    qualified: qualified ?? null,
    verify_url: links.absolute(verify_url),
    error: null,
  });

  function describeError(error: unknown) {
    if (!(error instanceof ServiceError)) throw error;
    const { code, message, members } = error;
    const pending = typeof members.verify_url === 'string' ? links.absolute(members.verify_url) : null;
    return {
      token_id: null,
      issued_at: null,
      tsp_provider: null,
      is_qualified: null,
      qualified: null,
      verify_url: pending,
      error: { code, detail: message },
    };
  }

  return createTool({
    name: 'stamp_file_hashes',
    description:
      'Obtain trusted time-stamps for files, up to 500 at once: proof that each existed at the time of its stamp. Compute the SHA-256 of each file yourself ' +
      '(for example with sha256sum) and give the 64 hexadecimal characters in lower case; never send a file. Returns for each file, in the same order, token_id and verify_url (keep ' +
      'them: you need them to verify the stamp later), issued_at, tsp_provider and is_qualified, or an error. If a client should see a whole piece of work, use workflow_start instead.',
    annotations: { ...stampingAnnotations, title: 'Stamp files by their hashes' },
    arguments: stampFilesArguments,
    answer: stampFilesAnswer,
    run: async ({ files, tier }, { product, requestId, idempotencyKey, guards, onReplayed }) => {
      const { answers, isReplayed } = await stampAll(tools, {
        operation: 'stamps',
        entries: files.map(({ sha256_hex }, index) => ({
          index,
          order: { imprint: sha256Imprint(sha256_hex), content: undefined, tier, metadata: undefined },
        })),
        caller: { kind: 'mcp', product },
        callerId: `product:${product}`,
        requestId,
        idempotencyKey,
        paymentClaim: undefined,
        passLimit: () => guards.stamps(files.length),
      });
      if (isReplayed) onReplayed();
      const told = answers.map((answer) => answer.then((one) => describeMade(madeOf(one))).catch(describeError));
      const described = (await Promise.all(told)).map((one, index) => {
        const { name = null, sha256_hex } = files[index]!;
        return { name, sha256_hex, ...one };
      });
      const failed = described.filter(({ error }) => error !== null).length;
      return { stamped: described.length - failed, failed, files: described };
    },
    links: ({ files }) =>
      files.length > mostLinked ? [] : files.flatMap(({ token_id, tsp_provider }) => (token_id ? links.stamp(token_id, tsp_provider) : [])),
  });
}
