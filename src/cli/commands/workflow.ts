import { readFile } from 'node:fs/promises';
import { basename, extname } from 'node:path';
import { InvalidArgumentError, Option } from '@commander-js/extra-typings';
import type { WorkflowStateResponse } from '../../shared/contract/workflow.ts';
import { type Language, languages } from '../../shared/domain/language.ts';
import { workflowTiers } from '../../shared/domain/stamp.ts';
import type { Client } from '../client.ts';
import { type Context, confirm, metadataOption, type Program } from '../command.ts';
import { about, CommandFailure, exitCodes, misuse } from '../failure.ts';
import { digestFile, digestInput, readText, saveFile, saveJson } from '../local-files.ts';
import { filesOf, stampedFolderRule } from '../operands.ts';
import {
  describeStampRecord,
  isStampRecordPath,
  openWorkflow,
  placeOfEarlier,
  readStampRecord,
  type StampRecord,
  stampRecordPathOf,
  type WorkflowFile,
  workflowFileName,
  workflowOption,
} from '../records.ts';
import { countOf, type Line, notTried, readableSize, type Terminal, withMilliseconds } from '../terminal.ts';

export function addWorkflowCommands(program: Program, context: Context): void {
  const group = program
    .command('workflow')
    .description('stamp the outputs of a piece of work in their order, and close it with a Merkle root');
  for (const addCommand of [addStart, addAdd, addRequests, addBundle, addRedact]) addCommand(group, context);
}

function addStart(group: Program, context: Context): void {
  group
    .command('start')
    .description(`start a workflow; its secret workflow token is saved in ${workflowFileName}`)
    .requiredOption('--email <ADDRESS>', 'the address of the client; a link to confirm is mailed there')
    .requiredOption('--agent <NAME>', 'the name of the agent that does the work')
    .option('--briefing <FILE>', 'the task, or - for standard input; only its hash is sent')
    .addOption(new Option('--briefing-hash <SHA-256>', 'instead of --briefing').argParser(sha256Of).conflicts('briefing'))
    .addOption(new Option('--tier <TIER>', 'how much the workflow requires before it continues').choices(workflowTiers).default('standard'))
    .addOption(new Option('--locale <LANGUAGE>', 'the language of the mails to the client').choices(languages).default('en'))
    .option('--title <TEXT>', 'a title of the task, shown on the public page of the workflow')
    .addOption(metadataOption('stored with the briefing'))
    .option('--workflow <FILE>', 'where the workflow token is saved', workflowFileName)
    .action((options) => startWorkflow(options, context));
}

interface StartOptions {
  readonly email: string;
  readonly agent: string;
  readonly briefing?: string;
  readonly briefingHash?: string;
  readonly tier: (typeof workflowTiers)[number];
  readonly locale: Language;
  readonly title?: string;
  readonly metadata?: Readonly<Record<string, string>>;
  /** The path of the workflow file. */
  readonly workflow: string;
}

/** Starts a workflow, and saves its workflow token. */
export async function startWorkflow(options: StartOptions, { terminal, connect, stdin }: Context): Promise<void> {
  const { email, agent, briefing, briefingHash, tier, locale, title, metadata: given, workflow: path } = options;
  const metadata = title === undefined ? given : { ...given, title, public: true };
  const client = connect();
  if ((await readText(path)) !== undefined) {
    const advice = { command: '--workflow names another file', tool: 'the argument workflow names another file' };
    throw new CommandFailure(exitCodes.file, `${path} already contains a workflow`, {}, advice);
  }
  const hashFile = (file: string) => about(`--briefing ${file}`, () => digestInput(file, stdin));
  const briefing_hash = briefing === undefined ? briefingHash : (await hashFile(briefing)).imprint.digest;
  if (briefing_hash === undefined) throw misuse('one of --briefing and --briefing-hash is needed');
  const request = { user_email: email, agent_id: agent, briefing_hash, tier, locale, ...(metadata && { briefing_metadata: metadata }) };
  const { workflow_token, ...started } = await client.startWorkflow(request);
  const { workflow_id, expires_at, page_url } = started;
  const saved: WorkflowFile = { qstamp: 1, kind: 'workflow', service: client.baseUrl, workflow_id, workflow_token, expires_at };
  await saveJson(path, saved, {
    overwrite: false,
    isSecret: true,
    what: `the workflow ${workflow_id} was started but its workflow token was not saved`,
  });
  terminal.result({ ...started, briefing_hash, saved: path }, `workflow ${workflow_id} started, until ${withMilliseconds(expires_at)}`, [
    `a link to confirm is mailed to ${started.otp_sent_to}`,
    page_url !== undefined && `its page, which you can give to the client: ${client.addressOf(page_url)}`,
    `files can be added ${tier === 'standard' ? 'now' : 'when the client has opened this link'}`,
    `its workflow token is in ${path}: keep this file, and keep it secret`,
  ]);
}

/** A SHA-256 on the command line, in lower case as the service stores it. */
function sha256Of(given: string): string {
  if (!/^[0-9a-f]{64}$/i.test(given)) throw new InvalidArgumentError('It takes 64 hexadecimal characters.');
  return given.toLowerCase();
}

function addAdd(group: Program, context: Context): void {
  group
    .command('add')
    .description(
      'stamp outputs, in this order; each is saved as FILE.qstamp.json\n\n' +
        'The command stops at the first failure, so that no output takes the place of another. Run it again with the same folder, and ' +
        'it goes on where it stopped: files of a folder that are outputs of this workflow already are left out. An earlier ' +
        `stamp of a file is kept as FILE.basic.qstamp.json, or FILE.workflow.qstamp.json if it was an output of another workflow.\n${stampedFolderRule}`,
    )
    .argument('<FILE|FOLDER...>')
    .option('--type <TYPE>', 'image, text, audio, video, code, layout or another (default: from the file name)')
    .addOption(metadataOption('stored with the output'))
    .option('--show-name', 'show the name of the file on the public page of the workflow')
    .option('--force', 'replace existing stamps, also those of outputs of this workflow')
    .addOption(workflowOption)
    .action((operands, options) => addOutputs(operands, options, context));
}

interface AddOptions extends Omit<OutputOptions, 'workflow' | 'skipsOutputs'> {
  /** The path of the workflow file. */
  readonly workflow?: string;
  /** By default, it holds for the files of folders. */
  readonly skipsOutputs?: true;
}

/** Stamps outputs one after the other, because the workflow also proves their order (W8). It stops at the first failure. */
export async function addOutputs(operands: readonly string[], options: AddOptions, tools: Tools): Promise<void> {
  const { terminal } = tools;
  const { workflow, client } = await reachWorkflow(options.workflow, tools);
  const { files, inFolders } = await filesOf(operands, terminal);
  if (options.force && inFolders.size > 0) throw misuse('--force replaces stamps, so it takes files and not folders');
  if (terminal.exitCode() !== exitCodes.ok) return;
  for (const path of files) {
    const added = { ...options, workflow, skipsOutputs: options.skipsOutputs ?? inFolders.has(path) };
    if (terminal.exitCode() !== exitCodes.ok) terminal.count(notTried);
    else await addOutput(path, added, client, terminal).catch((error) => terminal.problem(path, error));
  }
}

type SavedOutput = Extract<StampRecord, { kind: 'workflow_output' }>;

interface OutputOptions {
  readonly workflow: WorkflowFile;
  readonly type?: string;
  readonly metadata?: Readonly<Record<string, string>>;
  readonly showName?: true;
  readonly force?: true;
  /** True: skips a file that is already an output of this workflow. */
  readonly skipsOutputs: boolean;
}

async function addOutput(path: string, options: OutputOptions, client: Client, terminal: Terminal): Promise<void> {
  const { workflow, showName, force } = options;
  const metadata = showName ? { ...options.metadata, name: basename(path), public: true } : options.metadata;
  if (isStampRecordPath(path)) throw new CommandFailure(exitCodes.file, 'this is already a stamp');
  const recordPath = stampRecordPathOf(path);
  const existing = force ? undefined : await readStampRecord(recordPath);
  const own = existing?.kind === 'workflow_output' && existing.workflow_id === workflow.workflow_id ? existing : undefined;
  if (own && options.skipsOutputs && own.sha256 === (await digestFile(path, { onBytes: terminal.track(path) })).imprint.digest) {
    // An earlier run may have ended before it had the token.
    if (own.token === null) await addToken(own, recordPath, client);
    const found = { file: path, saved: recordPath, already_stamped: true };
    return terminal.done('already stamped', found, `${path}: ${describeStampRecord(own)}, before this`);
  }
  if (own) {
    const advice = { command: '--force stamps it again', tool: 'save a changed result under another name to add it' };
    throw new CommandFailure(exitCodes.file, `it was ${describeStampRecord(own)} (${recordPath})`, {}, advice);
  }
  const earlier = existing && (await placeOfEarlier(existing, recordPath));
  const output_type = options.type ?? outputTypeOf(path);
  const { imprint, bytes } = await digestFile(path, { onBytes: terminal.track(path) });
  const sha256 = imprint.digest;
  const output = await client.addOutput(workflow, sha256, { output_type, ...(metadata && { output_metadata: metadata }) });
  const { workflow_id } = workflow;
  const common = { qstamp: 1, file: basename(path), bytes, sha256, service: client.baseUrl } as const;
  const record: SavedOutput = { ...common, kind: 'workflow_output', workflow_id, output, token: null };
  const named = `output ${output.sequence_number}`;
  // The record is saved before the token is fetched: if fetching fails, the user still knows that the output is stamped.
  const what = `${named} was stamped but not saved`;
  if (earlier) await about(what, async () => saveFile(earlier, [await readFile(recordPath)], { overwrite: true }));
  await saveJson(recordPath, record, { overwrite: force === true || earlier !== undefined, what });
  await addToken(record, recordPath, client);
  const line = `${path} (${readableSize(bytes)}): ${named} (${output_type}), saved as ${recordPath}`;
  const kept = earlier !== undefined && { earlier };
  terminal.done('stamped', { file: path, saved: recordPath, sha256, output_type, ...output, ...kept }, line, [
    kept && `the earlier stamp is kept as ${kept.earlier}`,
  ]);
}

/**
 * Fetches the token of an output and saves it in the record, so that the file can be verified without the service. A stamp of the mock provider has
 * no token.
 */
async function addToken(record: SavedOutput, recordPath: string, client: Client): Promise<void> {
  const named = `output ${record.output.sequence_number}`;
  const missing = `${named} was stamped and saved, and the service verifies it, but its time-stamp token could not be fetched`;
  const token = await about(missing, () => client.fetchToken(record.output.stamp_token_id));
  const what = `the time-stamp token of ${named} was not saved`;
  if (token) await saveJson(recordPath, { ...record, token: token.toString('base64') }, { overwrite: true, what });
}

const extensionsOf: Readonly<Record<string, readonly string[]>> = {
  image: ['avif', 'bmp', 'gif', 'heic', 'jpeg', 'jpg', 'png', 'svg', 'tif', 'tiff', 'webp'],
  text: ['csv', 'doc', 'docx', 'html', 'json', 'md', 'odt', 'pdf', 'rtf', 'tex', 'txt', 'xml', 'yaml', 'yml'],
  audio: ['aac', 'flac', 'm4a', 'mp3', 'ogg', 'opus', 'wav'],
  video: ['avi', 'm4v', 'mkv', 'mov', 'mp4', 'webm'],
  code: ['c', 'cpp', 'cs', 'css', 'go', 'h', 'java', 'js', 'kt', 'mjs', 'php', 'py', 'rb', 'rs', 'sh', 'sql', 'swift', 'ts', 'tsx'],
  layout: ['ai', 'fig', 'idml', 'indd', 'psd', 'sketch', 'xd'],
};

/** The output type of a file by its name. @throws CommandFailure `usage` if the extension is unknown */
function outputTypeOf(path: string): string {
  const extension = extname(path).slice(1).toLowerCase();
  const found = Object.entries(extensionsOf).find(([, extensions]) => extensions.includes(extension))?.[0];
  if (found !== undefined) return found;
  throw misuse('its file name does not show its type', { command: 'give it with --type', tool: 'give it as output_type' });
}

/** The commands that ask the service one thing about a workflow. */
function addRequests(group: Program, context: Context): void {
  const add = (name: string, description: string) => group.command(name).description(description).addOption(workflowOption);
  add('status', 'show the state of the workflow from the service; its page shows what is proved').action(({ workflow }) =>
    showState(workflow, context),
  );

  add('resend', 'mail a new link to confirm; the old one ends').action(async ({ workflow: file }) => {
    const { workflow, client } = await reachWorkflow(file, context);
    const answer = await client.resendLink(workflow);
    context.terminal.result(
      answer,
      `workflow ${workflow.workflow_id}: a new link is mailed to ${answer.otp_sent_to}; the old one has ended`,
    );
  });

  add('complete', 'close the workflow: a Merkle root over all outputs is stamped')
    .option('--yes', 'do not ask before a workflow without outputs is closed')
    .action((options) => completeWorkflow(options.workflow, (question) => confirm(options, context.ask, question), context));
}

/** What the commands about a workflow need. */
type Tools = Pick<Context, 'terminal' | 'connect'>;

/** Opens the workflow of a workflow file, and a client for its service: only this service knows the workflow, so QSTAMP_URL does not count. */
async function reachWorkflow(file: string | undefined, { connect }: Tools) {
  const workflow = await openWorkflow(file);
  return { workflow, client: connect(workflow.service) };
}

/** Shows the state of the workflow of a workflow file. */
export async function showState(file: string | undefined, tools: Tools): Promise<void> {
  const { workflow, client } = await reachWorkflow(file, tools);
  const state = await client.readWorkflow(workflow);
  const { workflow_id, status, output_count, tier } = state;
  const line = `the service says: workflow ${workflow_id} is ${stateNames[status] ?? status}, ${countOf(output_count, 'output')}, tier ${tier}`;
  tools.terminal.result(state, line, detailsOf(state, client.addressOf(state.verify_url)));
}

/**
 * Closes the workflow of a workflow file.
 *
 * @param allowEmpty called before a workflow without outputs is closed, which is probably a mistake. It throws if the workflow stays open
 */
export async function completeWorkflow(
  file: string | undefined,
  allowEmpty: (question: string) => Promise<void>,
  tools: Tools,
): Promise<void> {
  const { workflow, client } = await reachWorkflow(file, tools);
  const state = await client.readWorkflow(workflow);
  if (state.output_count === 0 && isOpen(state)) {
    await allowEmpty(`Workflow ${workflow.workflow_id} has no outputs. Close it? Nothing can be added afterwards.`);
  }
  const completed = await client.completeWorkflow(workflow);
  const { workflow_id, output_count, completed_at, verify_url } = completed;
  const line = `the service completed workflow ${workflow_id} at ${withMilliseconds(completed_at)} with ${countOf(output_count, 'output')}`;
  tools.terminal.result(completed, line, [`anyone may check it at ${client.addressOf(verify_url)}`]);
}

const stateNames: Readonly<Record<string, string>> = { pending: 'waiting for the client' };

const isOpen = ({ status }: WorkflowStateResponse): boolean => status !== 'completed' && status !== 'expired';

function detailsOf(state: WorkflowStateResponse, page: string): readonly Line[] {
  const { agent_id, merkle_root, confirmed_at, completed_at } = state;
  return [
    agent_id !== undefined && agent_id !== erased && `agent ${agent_id}`,
    mailOf(state),
    `started at ${withMilliseconds(state.created_at)}`,
    confirmed_at === null ? 'e-mail address not confirmed' : `e-mail address confirmed at ${withMilliseconds(confirmed_at)}`,
    completed_at === null
      ? isOpen(state) && `open until ${withMilliseconds(state.expires_at)}`
      : `completed at ${withMilliseconds(completed_at)}`,
    merkle_root !== null && `Merkle root ${merkle_root}`,
    `page ${page}`,
  ];
}

/** The service shows this text instead of erased data (W10). */
const erased = '[REDACTED]';

function mailOf({ mail, user_email }: WorkflowStateResponse): Line {
  if (user_email === erased) return 'client erased: e-mail address and agent are permanently deleted';
  if (mail === undefined || user_email === undefined) return undefined;
  const tries = countOf(mail.attempts, 'time');
  if (mail.status === 'waiting') return `mail to ${user_email} not sent yet, tried ${tries}`;
  if (mail.status !== 'sent') return `mail to ${user_email} given up after ${tries}; "qstamp workflow resend" tries again`;
  return `link mailed to ${user_email}${mail.sent_at === null ? '' : ` at ${withMilliseconds(mail.sent_at)}`}`;
}

function addBundle(group: Program, context: Context): void {
  group
    .command('bundle')
    .description(
      'save one zip file with all that anybody needs to check the completed workflow without the service\n\n' +
        'Anybody may do this. For a workflow that is not yours, give its id. "qstamp verify BUNDLE.zip FILE..." verifies it offline.',
    )
    .argument('[ID]')
    .option('--out <FILE>', 'the target (default workflow-ID.zip); an existing file is not changed')
    .addOption(workflowOption)
    .action(async (id, options) => {
      if (id !== undefined && options.workflow !== undefined) throw misuse('name one workflow');
      if (id !== undefined && !uuidPattern.test(id)) throw misuse(`"${id}" is not the id of a workflow`);
      if (id !== undefined) await saveBundle(id, options.out, context.connect(), context);
      else await saveOwnBundle(options.workflow, options.out, context);
    });
}

/** Saves the evidence of the completed workflow of a workflow file. */
export async function saveOwnBundle(file: string | undefined, path: string | undefined, tools: Tools): Promise<void> {
  const { workflow, client } = await reachWorkflow(file, tools);
  await saveBundle(workflow.workflow_id, path, client, tools);
}

async function saveBundle(workflowId: string, given: string | undefined, client: Client, { terminal }: Tools): Promise<void> {
  const path = given ?? `workflow-${workflowId}.zip`;
  const onBytes = terminal.track(path);
  async function* download() {
    for await (const chunk of client.fetchBundle(workflowId)) {
      yield chunk;
      onBytes(chunk.length);
    }
  }
  const bytes = await about(path, () => saveFile(path, download(), { overwrite: false }));
  terminal.result(
    { workflow_id: workflowId, bundle: path, bytes },
    `workflow ${workflowId}: its evidence is saved as ${path} (${readableSize(bytes)})`,
    [{ command: `"qstamp verify ${path} FILE..." verifies it`, tool: 'verify_file verifies it' }],
  );
}

const uuidPattern = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

function addRedact(group: Program, context: Context): void {
  const personal = "the e-mail address, the agent's id and all metadata (also title and file names)";
  group
    .command('redact')
    .description(
      "erase e-mail address, agent's id and all metadata permanently; outputs and proofs stay\n\n" +
        'Metadata includes the title of the task and the file names that the public page shows. This cannot be undone.',
    )
    .option('--yes', 'do not ask')
    .addOption(workflowOption)
    .action(async (options) => {
      const { workflow, client } = await reachWorkflow(options.workflow, context);
      const { workflow_id } = workflow;
      await confirm(options, context.ask, `Erase ${personal} of workflow ${workflow_id}? This cannot be undone.`);
      const redacted = await client.redactWorkflow(workflow);
      context.terminal.result(redacted, `workflow ${workflow_id}: the service erased ${personal}; outputs and proofs stay`);
    });
}
