import { workflowBundleAnswer, workflowBundleArguments } from '../../../shared/contract/mcp.ts';
import { evidencePath, workflowPath } from '../../../shared/domain/addresses.ts';
import { ServiceError } from '../../../shared/domain/service-error.ts';
import type { Workflows } from '../../services/workflows/workflows.ts';
import type { Links } from './links.ts';
import { createTool, type Tool } from './tool.ts';

export function createWorkflowBundleTool(deps: { readonly workflows: Pick<Workflows, 'find' | 'state'>; readonly links: Links }): Tool {
  const { workflows, links } = deps;
  return createTool({
    name: 'workflow_bundle',
    description:
      'Get the address of the evidence of a completed workflow: one zip with chain, proofs, time-stamps, certificates and a script by which anybody checks it without this service. Give bundle_url to whoever has to keep the ' +
      'proof. Fails with conflict while the workflow is open: call workflow_complete first. Needs no token.',
    annotations: {
      title: 'Get the evidence of a workflow',
      readOnlyHint: true,
      destructiveHint: false,
      idempotentHint: true,
      openWorldHint: false,
    },
    arguments: workflowBundleArguments,
    answer: workflowBundleAnswer,
    needsToken: false,
    run: async ({ workflow_id: id }, { guards }) => {
      const state = await workflows.state(await guards.lookUp(() => workflows.find(id)), false);
      const { status, output_count, merkle_root, completed_at } = state;
      if (status !== 'completed' || merkle_root === null || completed_at === null) {
        throw new ServiceError('conflict', 'The workflow is not completed: there is no evidence of it yet. Complete it first.', {
          members: { reason: 'workflow_open' },
        });
      }
      return {
        workflow_id: id,
        output_count,
        merkle_root,
        completed_at,
        bundle_url: links.absolute(evidencePath(id, 'zip')),
        evidence_url: links.absolute(evidencePath(id, 'json')),
        page_url: links.absolute(workflowPath(id)),
      };
    },
    links: ({ workflow_id }) => [links.bundle(workflow_id), links.workflowPage(workflow_id)],
  });
}
