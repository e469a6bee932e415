import { verifyFileAnswer, verifyFileArguments } from '../../../shared/contract/mcp.ts';
import type { VerificationResult } from '../../../shared/contract/verify.ts';
import { verifyPath, workflowPath } from '../../../shared/domain/addresses.ts';
import { reasonOf } from '../../../shared/domain/reasons.ts';
import { ServiceError } from '../../../shared/domain/service-error.ts';
import type { Verification } from '../../services/verification.ts';
import type { Workflows } from '../../services/workflows/workflows.ts';
import type { CallGuards } from '../call-guards.ts';
import type { Links } from './links.ts';
import { createTool, type Tool } from './tool.ts';

export function createVerifyFileTool(deps: {
  readonly verification: Pick<Verification, 'byId' | 'raw'>;
  readonly workflows: Pick<Workflows, 'find' | 'proofs'>;
  readonly links: Links;
}): Tool {
  const { verification, workflows, links } = deps;

  function ofStamp(hash: string, result: VerificationResult) {
    const { valid, token_id, issued_at, content_sha256, tsp_provider, is_qualified, reason } = result;
    const isOther = valid && content_sha256 !== hash;
    return {
      verified: valid && !isOther,
      reason: isOther ? reasonOf('imprint_mismatch') : reason,
      issued_at,
      tsp_provider,
      is_qualified,
      token_id,
      sequence_number: null,
      url: token_id === null ? null : links.absolute(verifyPath(token_id)),
    };
  }

  /** Proved by the tree of the workflow, whose root and closing record are verified for it. */
  async function inWorkflow(hash: string, workflowId: string, guards: CallGuards) {
    const workflow = await guards.lookUp(() => workflows.find(workflowId));
    const open = { tsp_provider: null, is_qualified: null, token_id: null };
    const page = links.absolute(workflowPath(workflowId));
    try {
      const { sequence_number, root_stamp } = await workflows.proofs.inclusionOf(workflow, hash);
      const reason = root_stamp
        ? null
        : 'workflow_open: The file is recorded, and no stamp of the root proves it yet: complete the workflow.';
      const url = `${page}#output-${sequence_number}`;
      return { ...open, verified: root_stamp !== null, reason, issued_at: root_stamp?.issued_at ?? null, sequence_number, url };
    } catch (error) {
      if (!(error instanceof ServiceError) || error.code !== 'not_found') throw error;
      const reason = 'not_an_output: No output of this workflow has this hash.';
      return { ...open, verified: false, reason, issued_at: null, sequence_number: null, url: page };
    }
  }

  return createTool({
    name: 'verify_file_hash',
    description:
      'Check that a file is the one that was time-stamped. Compute the SHA-256 of the file as it is now (sha256_hex) and give exactly one of token_id, token or workflow_id. Returns verified; when true, issued_at is the time at which ' +
      'the file existed; when false, reason says why: the file is another one, the stamp is not valid, or the workflow is still open. Needs no service token.',
    annotations: {
      title: 'Verify a file by its hash',
      readOnlyHint: true,
      destructiveHint: false,
      idempotentHint: true,
      openWorldHint: false,
    },
    arguments: verifyFileArguments,
    answer: verifyFileAnswer,
    needsToken: false,
    run: async ({ sha256_hex: hash, token_id, token, workflow_id }, { guards }) => {
      await guards.verification();
      if (typeof workflow_id === 'string') return inWorkflow(hash, workflow_id, guards);
      if (typeof token_id === 'string') return ofStamp(hash, await verification.byId(token_id));
      return ofStamp(hash, await verification.raw(token ?? '', hash));
    },
    links: ({ url, token_id, tsp_provider }) => {
      if (token_id !== null) return links.stamp(token_id, tsp_provider);
      return url === null ? [] : [{ uri: url, name: 'Page of the workflow', mimeType: 'text/html' }];
    },
  });
}
