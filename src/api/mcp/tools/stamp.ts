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
import { madeOf, stampAll, stampOne } from '../../stamps/index.ts';
import { verifyById, verifyRaw } from '../../verification/index.ts';
import { isObject, RpcError, rpcErrors } from '../json-rpc.ts';
import { adding, type Links, reading, type Tool, type ToolCall, toolOf } from './tool.ts';

export const stampHashTool = toolOf({
  name: 'service_stamp_hash',
  description:
    'Obtain a trusted time-stamp for a SHA-256 hash: proof that data with this hash existed at the time of the stamp. Only the ' +
    'hash is sent, never the content. Returns the stamp: token_id, issued_at, content_sha256, token, tier, tsp_provider, ' +
    'is_qualified (whether it is a qualified time-stamp under eIDAS; qualified.basis says who says so: a trusted list of the EU, or only the operator) and verify_url. Keep token_id or token; each is enough to verify the stamp.',
  annotations: { ...adding, title: 'Stamp a hash' },
  arguments: stampHashArguments
    .transform(({ sha256_hex, tier, metadata }): StampRequest => ({ hash: sha256_hex, tier, metadata }))
    .pipe(stampRequestFor()),
  answer: stampToken,
  isOfContract: true,
  run: stampFor,
});

/** The tool that stores content. The tier is always sealed: another one is −32602 (M3). */
export function stampContentToolOf(sealedMaxBytes: number): Tool {
  const tool = toolOf({
    name: 'service_stamp_content',
    description:
      `Store content of at most ${sealedMaxBytes} bytes and obtain a trusted time-stamp for its SHA-256 hash (tier sealed). Returns ` +
      'the stamp, with sealed_storage_url: a secret relative address; everybody who knows it can read the content. To keep the ' +
      'content to yourself, compute its SHA-256 and call service_stamp_hash instead.',
    annotations: { ...adding, title: 'Store and stamp content' },
    arguments: stampContentArguments
      .transform(({ content_b64, metadata }): StampRequest => ({ content_b64, metadata }))
      .pipe(stampRequestFor({ tier: 'sealed', sealedMaxBytes })),
    answer: stampToken,
    isOfContract: true,
    run: stampFor,
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

export const verifyTokenTool = toolOf({
  name: 'service_verify_token',
  description:
    'Verify a time-stamp cryptographically. Give exactly one of token_id (the id of a stamp of this service) and token (the opaque ' +
    'token of a stamp, or any RFC 3161 time-stamp token in base64). Returns valid; when true, issued_at, content_sha256 (compare ' +
    'it with the SHA-256 of your content), tsp_provider and is_qualified; when false, a reason.',
  annotations: { ...reading, title: 'Verify a time-stamp' },
  arguments: verifyTokenArguments,
  answer: verificationResult,
  isOfContract: true,
  run: async ({ token_id, token }, { tools }) => ({
    answer: typeof token_id === 'string' ? await verifyById(tools, token_id) : await verifyRaw(tools, token ?? ''),
  }),
});

/** Makes a stamp for the product of the call's service token. @throws the same ServiceErrors as `stampOne` */
async function stampFor(order: StampOrder, call: ToolCall) {
  const { stamp, isReplayed } = await stampOne(call.tools, { ...callerOf(call, 1), order });
  return { answer: stamp, isReplayed };
}

const callerOf = ({ product, callerId, requestId, idempotencyKey, guards }: ToolCall, count: number) => ({
  caller: { kind: 'mcp', product } as const,
  callerId,
  requestId,
  idempotencyKey,
  passLimit: () => guards.stamps(count),
});

/** For more files than this the answer has no links, because the assistant must read all of them. */
const mostLinked = 10;

export const stampFilesTool = toolOf({
  name: 'stamp_file_hashes',
  description:
    'Obtain trusted time-stamps for files, up to 500 at once: proof that each existed at the time of its stamp. Compute the SHA-256 of each file yourself ' +
    '(for example with sha256sum) and give the 64 hexadecimal characters in lower case; never send a file. Returns for each file, in the same order, token_id and verify_url (keep ' +
    'them: you need them to verify the stamp later), issued_at, tsp_provider and is_qualified, or an error. If a client should see a whole piece of work, use workflow_start instead.',
  annotations: { ...adding, title: 'Stamp files by their hashes' },
  arguments: stampFilesArguments,
  answer: stampFilesAnswer,
  run: async ({ files, tier }, call) => {
    const entries = files.map(({ sha256_hex }, index) => ({
      index,
      order: { imprint: sha256Imprint(sha256_hex), content: undefined, tier, metadata: undefined },
    }));
    const { answers, isReplayed } = await stampAll(call.tools, { ...callerOf(call, files.length), isBulk: true, entries });
    const described = await Promise.all(
      answers.map(async (answer, index) => {
        const { name = null, sha256_hex } = files[index]!;
        return { name, sha256_hex, ...(await describe(answer.then(madeOf), call.links)) };
      }),
    );
    const failed = described.filter(({ error }) => error !== null).length;
    return { answer: { stamped: described.length - failed, failed, files: described }, isReplayed };
  },
  linksOf: ({ files }, links) =>
    files.length > mostLinked ? [] : files.flatMap(({ token_id, tsp_provider }) => (token_id ? links.stamp(token_id, tsp_provider) : [])),
});

const unmade = { token_id: null, issued_at: null, tsp_provider: null, is_qualified: null, qualified: null };

async function describe(stamp: Promise<StampToken>, { absolute }: Links) {
  try {
    const { token_id, issued_at, tsp_provider, is_qualified, qualified = null, verify_url } = await stamp;
    return { token_id, issued_at, tsp_provider, is_qualified, qualified, verify_url: absolute(verify_url), error: null };
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    const { code, message: detail, members } = error;
    return { ...unmade, verify_url: typeof members.verify_url === 'string' ? absolute(members.verify_url) : null, error: { code, detail } };
  }
}
