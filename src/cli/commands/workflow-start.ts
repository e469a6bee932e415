import { randomUUID } from 'node:crypto';
import { workflowTiers } from '../../shared/domain/tiers.ts';
import type { Command } from '../command.ts';
import { digestInput } from '../digest-input.ts';
import { CommandFailure, exitCodes, misuse } from '../failure.ts';
import { readText, saveJson } from '../json-file.ts';
import { metadataOf, type OptionValues, oneOf } from '../options.ts';
import { type WorkflowFile, workflowPathOf } from '../workflow-file.ts';

export const workflowStart: Command = {
  name: 'workflow start',
  operands: '',
  summary: 'start a workflow; its workflow token, which is secret, is saved in qstamp-workflow.json',
  options: {
    email: ['ADDRESS', 'whose workflow it is: a link to confirm is mailed there'],
    agent: ['NAME', 'who does the work'],
    briefing: ['FILE', 'what is to be done, or - for standard input; only its hash leaves'],
    'briefing-hash': ['SHA-256', 'instead of --briefing'],
    tier: ['standard|verified|qualified', 'how much the workflow asks before it goes on (default standard)'],
    metadata: ['NAME=VALUE', 'stored with the briefing; may be repeated'],
    workflow: ['FILE', 'where the workflow token is saved (default qstamp-workflow.json)'],
  },
  run: async (_operands, values, { terminal, connect, stdin }) => {
    const { email, agent, briefing } = requestedOf(values);
    const tier = oneOf('--tier', workflowTiers, values.tier, 'standard');
    const metadata = metadataOf(values);
    const path = workflowPathOf(values);
    const client = connect();
    if ((await readText(path)) !== undefined) {
      throw new CommandFailure(exitCodes.file, `${path} holds a workflow already; --workflow names another file`);
    }
    const briefing_hash = 'sha256' in briefing ? briefing.sha256 : (await digestInput(briefing.file, stdin)).imprint.digest;
    const request = { user_email: email, agent_id: agent, briefing_hash, tier, ...(metadata && { briefing_metadata: metadata }) };
    const { workflow_token, ...started } = await client.startWorkflow(request, randomUUID());
    const { workflow_id, expires_at } = started;
    const saved: WorkflowFile = { qstamp: 1, kind: 'workflow', service: client.baseUrl, workflow_id, workflow_token, expires_at };
    await saveJson(path, saved, {
      overwrite: false,
      isSecret: true,
      what: `the workflow ${workflow_id} was started but its workflow token not saved`,
    });
    terminal.result({ ...started, briefing_hash, saved: path }, `workflow ${workflow_id} started, until ${expires_at}`, [
      `a link to confirm is mailed to ${started.otp_sent_to}`,
      `its workflow token is in ${path}: keep it, and keep it secret`,
    ]);
    return exitCodes.ok;
  },
};

/** @throws CommandFailure `usage` when something is missing, or given twice */
function requestedOf({ email, agent, briefing: file, 'briefing-hash': sha256 }: OptionValues) {
  if (email === undefined || agent === undefined) throw misuse('--email and --agent are needed');
  if (file !== undefined && sha256 === undefined) return { email, agent, briefing: { file } };
  // The interface asks lower case of some hashes only (W17); a service that is older asks it of all.
  if (file === undefined && sha256 !== undefined) return { email, agent, briefing: { sha256: sha256.toLowerCase() } };
  throw misuse('exactly one of --briefing and --briefing-hash is needed');
}
