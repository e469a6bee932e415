import type { WorkflowStateResponse } from '../../shared/contract/workflow.ts';
import { workflowTiers } from '../../shared/domain/tiers.ts';
import { aboutFile } from '../anchors.ts';
import type { Command } from '../command.ts';
import { confirm } from '../confirm.ts';
import { digestInput } from '../digest-input.ts';
import { asFailure, CommandFailure, exitCodes, misuse } from '../failure.ts';
import { readText, saveJson } from '../json-file.ts';
import { metadataOf, type OptionValues, oneOf } from '../options.ts';
import { saveFile } from '../save-file.ts';
import { countOf, readableSize, withMilliseconds } from '../terminal.ts';
import { openWorkflow, type WorkflowFile, workflowOption, workflowPathOf } from '../workflow-file.ts';

export const workflowStart: Command = {
  name: 'workflow start',
  operands: '',
  summary: 'start a workflow; its secret workflow token is saved in qstamp-workflow.json',
  options: {
    email: ['ADDRESS', 'the address of the client; a link to confirm is mailed there'],
    agent: ['NAME', 'the name of the agent that does the work'],
    briefing: ['FILE', 'the task, or - for standard input; only its hash is sent'],
    'briefing-hash': ['SHA-256', 'instead of --briefing'],
    tier: ['standard|verified|qualified', 'how much the workflow requires before it continues (default standard)'],
    title: ['TEXT', 'a title of the task, shown on the public page of the workflow'],
    metadata: ['NAME=VALUE', 'stored with the briefing; may be repeated'],
    workflow: ['FILE', 'where the workflow token is saved (default qstamp-workflow.json)'],
  },
  run: async (_operands, values, { terminal, connect, stdin }) => {
    const { email, agent, briefing } = requestedOf(values);
    const tier = oneOf('--tier', workflowTiers, values.tier, 'standard');
    const { title } = values;
    const metadata = title === undefined ? metadataOf(values) : { ...metadataOf(values), title, public: true };
    const path = workflowPathOf(values);
    const client = connect();
    if ((await readText(path)) !== undefined) {
      throw new CommandFailure(exitCodes.file, `${path} already contains a workflow; --workflow names another file`);
    }
    const hashFile = (file: string) => aboutFile(`--briefing ${file}`, () => digestInput(file, stdin));
    const briefing_hash = 'sha256' in briefing ? briefing.sha256 : (await hashFile(briefing.file)).imprint.digest;
    const request = { user_email: email, agent_id: agent, briefing_hash, tier, ...(metadata && { briefing_metadata: metadata }) };
    const { workflow_token, ...started } = await client.startWorkflow(request);
    const { workflow_id, expires_at } = started;
    const saved: WorkflowFile = { qstamp: 1, kind: 'workflow', service: client.baseUrl, workflow_id, workflow_token, expires_at };
    await saveJson(path, saved, {
      overwrite: false,
      isSecret: true,
      what: `the workflow ${workflow_id} was started but its workflow token was not saved`,
    });
    terminal.result({ ...started, briefing_hash, saved: path }, `workflow ${workflow_id} started, until ${withMilliseconds(expires_at)}`, [
      `a link to confirm is mailed to ${started.otp_sent_to}`,
      `its workflow token is in ${path}: keep this file, and keep it secret`,
    ]);
    return exitCodes.ok;
  },
};

/** Reads the options of `workflow start`. @throws CommandFailure `usage` if an option is missing, or the briefing is given twice */
function requestedOf({ email, agent, briefing: file, 'briefing-hash': sha256 }: OptionValues) {
  if (email === undefined || agent === undefined) throw misuse('--email and --agent are needed');
  if (file !== undefined && sha256 === undefined) return { email, agent, briefing: { file } };
  if (file === undefined && sha256 !== undefined) return { email, agent, briefing: { sha256: hashOf(sha256) } };
  throw misuse('exactly one of --briefing and --briefing-hash is needed');
}

/** Checks a SHA-256 on the command line. @throws CommandFailure `usage` */
function hashOf(sha256: string): string {
  if (!/^[0-9a-f]{64}$/i.test(sha256)) throw misuse('--briefing-hash takes 64 hexadecimal characters');
  // The result shows the hash as the service stores it.
  return sha256.toLowerCase();
}

export const workflowStatus: Command = {
  name: 'workflow status',
  operands: '',
  summary: 'show the state of the workflow from the service; its page shows what is proved',
  options: { workflow: workflowOption },
  run: async (_operands, values, { terminal, connect }) => {
    const client = connect();
    const state = await client.readWorkflow(await openWorkflow(values));
    const { workflow_id, status, output_count, tier } = state;
    const line = `the service says: workflow ${workflow_id} is ${stateNames[status] ?? status}, ${countOf(output_count, 'output')}, tier ${tier}`;
    terminal.result(state, line, detailsOf(state, client.addressOf(state.verify_url)));
    return exitCodes.ok;
  },
};

/** Names of states as on the page, if they differ from those in the API. */
const stateNames: Readonly<Record<string, string>> = { pending: 'waiting for the client' };

/** The facts in a workflow's state, one in each line. */
function detailsOf(state: WorkflowStateResponse, page: string): readonly string[] {
  const { status, agent_id, merkle_root } = state;
  const ends = status === 'completed' || status === 'expired' ? [] : [`open until ${withMilliseconds(state.expires_at)}`];
  return [
    ...(agent_id === undefined || agent_id === erased ? [] : [`agent ${agent_id}`]),
    ...mailOf(state),
    `started at ${withMilliseconds(state.created_at)}`,
    state.confirmed_at === null ? 'e-mail address not confirmed' : `e-mail address confirmed at ${withMilliseconds(state.confirmed_at)}`,
    ...(state.completed_at === null ? ends : [`completed at ${withMilliseconds(state.completed_at)}`]),
    ...(merkle_root === null ? [] : [`Merkle root ${merkle_root}`]),
    `page ${page}`,
  ];
}

/** The service shows this text instead of erased data (W10). */
const erased = '[REDACTED]';

function mailOf({ mail, user_email }: WorkflowStateResponse): readonly string[] {
  if (user_email === erased) return ['client erased: e-mail address and agent are permanently deleted'];
  if (mail === undefined || user_email === undefined) return [];
  if (mail.status === 'sent')
    return [`link mailed to ${user_email}${mail.sent_at === null ? '' : ` at ${withMilliseconds(mail.sent_at)}`}`];
  if (mail.status === 'waiting') return [`mail to ${user_email} not sent yet, tried ${countOf(mail.attempts, 'time')}`];
  return [`mail to ${user_email} given up after ${countOf(mail.attempts, 'time')}; "qstamp workflow resend" tries again`];
}

export const workflowResend: Command = {
  name: 'workflow resend',
  operands: '',
  summary: 'mail a new link to confirm; the old one ends',
  options: { workflow: workflowOption },
  run: async (_operands, values, { terminal, connect }) => {
    const workflow = await openWorkflow(values);
    const answer = await connect().resendLink(workflow);
    terminal.result(answer, `workflow ${workflow.workflow_id}: a new link is mailed to ${answer.otp_sent_to}; the old one has ended`);
    return exitCodes.ok;
  },
};

export const workflowComplete: Command = {
  name: 'workflow complete',
  operands: '',
  summary: 'close the workflow: a Merkle root over all outputs is stamped',
  options: { workflow: workflowOption },
  run: async (_operands, values, { terminal, connect }) => {
    const client = connect();
    const completed = await client.completeWorkflow(await openWorkflow(values));
    const { workflow_id, output_count, completed_at, verify_url } = completed;
    terminal.result(
      completed,
      `the service completed workflow ${workflow_id} at ${withMilliseconds(completed_at)} with ${countOf(output_count, 'output')}`,
      [`anyone may check it at ${client.addressOf(verify_url)}`],
    );
    return exitCodes.ok;
  },
};

const uuidPattern = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

export const workflowBundle: Command = {
  name: 'workflow bundle',
  operands: '[ID]',
  summary: 'save one zip file with all that anybody needs to check the completed workflow without the service',
  details: 'Anybody may do this. For a workflow that is not yours, give its id. "qstamp verify BUNDLE.zip FILE..." verifies it offline.',
  options: {
    out: ['FILE', 'the target (default workflow-ID.zip); an existing file is not changed'],
    workflow: workflowOption,
  },
  run: async ([id, ...others], values, { terminal, connect }) => {
    if (others.length > 0 || (id !== undefined && values.workflow !== undefined)) throw misuse('name one workflow');
    if (id !== undefined && !uuidPattern.test(id)) throw misuse(`"${id}" is not the id of a workflow`);
    const workflowId = id ?? (await openWorkflow(values)).workflow_id;
    const path = values.out ?? `workflow-${workflowId}.zip`;
    const client = connect();
    const bytes = await save(path, client.fetchBundle(workflowId), terminal.track(path));
    terminal.result(
      { workflow_id: workflowId, bundle: path, bytes },
      `workflow ${workflowId}: its evidence is saved as ${path} (${readableSize(bytes)})`,
      [`"qstamp verify ${path} FILE..." verifies it`],
    );
    return exitCodes.ok;
  },
};

/** Saves a download in a new file. Returns its size in bytes. @throws CommandFailure */
async function save(path: string, chunks: AsyncIterable<Uint8Array>, onBytes: (count: number) => void): Promise<number> {
  async function* counted() {
    for await (const chunk of chunks) {
      yield chunk;
      onBytes(chunk.length);
    }
  }
  try {
    return await saveFile(path, counted(), { overwrite: false });
  } catch (error) {
    const failure = asFailure(error);
    const isOfFile = failure instanceof CommandFailure && failure !== error;
    throw isOfFile ? new CommandFailure(exitCodes.file, `${path}: ${failure.message}`) : failure;
  }
}

const whatRedactErases = "the e-mail address, the agent's id and all metadata (also title and file names)";

export const workflowRedact: Command = {
  name: 'workflow redact',
  operands: '',
  summary: "erase e-mail address, agent's id and all metadata permanently; outputs and proofs stay",
  details: 'Metadata includes the title of the task and the file names that the public page shows. This cannot be undone.',
  options: {
    yes: ['', 'do not ask'],
    workflow: workflowOption,
  },
  run: async (_operands, values, { terminal, connect, ask }) => {
    const workflow = await openWorkflow(values);
    const { workflow_id } = workflow;
    const question = `Erase ${whatRedactErases} of workflow ${workflow_id}? This cannot be undone.`;
    await confirm(values, ask, question);
    const redacted = await connect().redactWorkflow(workflow);
    terminal.result(redacted, `workflow ${workflow_id}: the service erased ${whatRedactErases}; outputs and proofs stay`);
    return exitCodes.ok;
  },
};
