import { randomUUID } from 'node:crypto';
import type { Command } from '../command.ts';
import { exitCodes } from '../failure.ts';
import { countOf } from '../terminal.ts';
import { openWorkflow, workflowOption } from '../workflow-file.ts';

export const workflowComplete: Command = {
  name: 'workflow complete',
  operands: '',
  summary: 'close it: a Merkle root over all outputs is stamped',
  options: { workflow: workflowOption },
  run: async (_operands, values, { terminal, connect }) => {
    const client = connect();
    const completed = await client.completeWorkflow(await openWorkflow(values), randomUUID());
    const { workflow_id, output_count, completed_at, verify_url } = completed;
    terminal.result(completed, `the service completed workflow ${workflow_id} at ${completed_at} with ${countOf(output_count, 'output')}`, [
      `anyone may check it at ${client.addressOf(verify_url)}`,
    ]);
    return exitCodes.ok;
  },
};
