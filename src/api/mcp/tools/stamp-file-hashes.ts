import { stampFilesAnswer, stampFilesArguments } from '../../../shared/contract/mcp.ts';
import type { StampToken } from '../../../shared/contract/stamp.ts';
import { ServiceError } from '../../../shared/domain/service-error.ts';
import { sha256Imprint } from '../../../shared/domain/stamp.ts';
import { madeOf, stampAll } from '../../stamps/index.ts';
import { stampingAnnotations } from './stamp.ts';
import { createTool, type Tool } from './tool.ts';
import type { ToolServices } from './tool-services.ts';

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
