import type { WorkflowStateResponse } from '../../shared/contract/workflow.ts';
import type { Command } from '../command.ts';
import { exitCodes } from '../failure.ts';
import { countOf } from '../terminal.ts';
import { openWorkflow, workflowOption } from '../workflow-file.ts';

export const workflowStatus: Command = {
  name: 'workflow status',
  operands: '',
  summary: 'tell what the service says of the workflow; its page shows what of that is proved',
  options: { workflow: workflowOption },
  run: async (_operands, values, { terminal, connect }) => {
    const client = connect();
    const state = await client.readWorkflow(await openWorkflow(values));
    const { workflow_id, status, output_count, tier } = state;
    const line = `the service says of workflow ${workflow_id}: ${stateNames[status] ?? status}, ${countOf(output_count, 'output')}, tier ${tier}`;
    terminal.result(state, line, detailsOf(state, client.addressOf(state.verify_url)));
    return exitCodes.ok;
  },
};

/** States as the page calls them, where the interface has another word. */
const stateNames: Readonly<Record<string, string>> = { pending: 'waiting for the client' };

/** The members of a workflow's state (W16), a line each. */
function detailsOf(state: WorkflowStateResponse, page: string): readonly string[] {
  const { status, agent_id, merkle_root } = state;
  const ends = status === 'completed' || status === 'expired' ? [] : [`open until ${state.expires_at}`];
  return [
    ...(agent_id === undefined || agent_id === erased ? [] : [`agent ${agent_id}`]),
    ...mailOf(state),
    `started at ${state.created_at}`,
    state.confirmed_at === null ? 'link not opened' : `link opened at ${state.confirmed_at}`,
    ...(state.completed_at === null ? ends : [`completed at ${state.completed_at}`]),
    ...(merkle_root === null ? [] : [`Merkle root ${merkle_root}`]),
    `page ${page}`,
  ];
}

/** What the service says in place of an address that it has erased (W10). */
const erased = '[REDACTED]';

function mailOf({ mail, user_email }: WorkflowStateResponse): readonly string[] {
  if (user_email === erased) return ['client erased: e-mail address and agent are gone for good'];
  if (mail === undefined || user_email === undefined) return [];
  if (mail.status === 'sent') return [`link mailed to ${user_email}${mail.sent_at === null ? '' : ` at ${mail.sent_at}`}`];
  if (mail.status === 'waiting') return [`mail to ${user_email} not sent yet, tried ${countOf(mail.attempts, 'time')}`];
  return [`mail to ${user_email} given up after ${countOf(mail.attempts, 'time')}; "qstamp workflow resend" tries anew`];
}
