import type { Command } from '../command.ts';
import { exitCodes } from '../failure.ts';
import { countOf } from '../terminal.ts';
import { openWorkflow, workflowOption } from '../workflow-file.ts';
import type { WorkflowState } from '../workflow-state.ts';

export const workflowStatus: Command = {
  name: 'workflow status',
  operands: '',
  summary: 'tell what the service says of the workflow; its page shows what of that is proved',
  options: { workflow: workflowOption },
  run: async (_operands, values, { terminal, connect }) => {
    const client = connect();
    const state = await client.readWorkflow(await openWorkflow(values));
    terminal.result(state, describeState(state, client.addressOf(state.verify_url)));
    return exitCodes.ok;
  },
};

/** What the service says of a workflow, for people (W16). */
export function describeState(state: WorkflowState, page: string): string {
  const { workflow_id, status, tier, output_count, user_email, agent_id, merkle_root } = state;
  const ends = status === 'completed' || status === 'expired' ? [] : [`open until ${state.expires_at}`];
  const lines = [
    `the service says of workflow ${workflow_id}: ${status}, ${countOf(output_count, 'output')}, tier ${tier}`,
    ...(agent_id === undefined ? [] : [`agent ${agent_id}`]),
    ...(user_email === undefined ? [] : [`link mailed to ${user_email}`]),
    `started at ${state.created_at}`,
    state.confirmed_at === null ? 'link not opened' : `link opened at ${state.confirmed_at}`,
    ...(state.completed_at === null ? ends : [`closed at ${state.completed_at}`]),
    ...(merkle_root === null ? [] : [`Merkle root ${merkle_root}`]),
    `page ${page}`,
  ];
  return lines.join('\n  ');
}
