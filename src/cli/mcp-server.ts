import { hash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { realpath, stat } from 'node:fs/promises';
import { homedir } from 'node:os';
import { basename, dirname, join, resolve, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import {
  CLIENT_CAPABILITIES_META_KEY,
  type ClientCapabilities,
  inputRequired,
  inputResponse,
  McpServer,
  type ServerContext,
} from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { z } from 'zod';
import { version } from '../shared/contract/version.ts';
import { verifyPath, workflowPath } from '../shared/domain/addresses.ts';
import { languages } from '../shared/domain/language.ts';
import type { Verdict } from '../shared/domain/reasons.ts';
import { workflowTiers } from '../shared/domain/stamp.ts';
import { isSameService } from './client.ts';
import type { Context } from './command.ts';
import { stampFiles } from './commands/stamp.ts';
import { verifyAll } from './commands/verify.ts';
import { addOutputs, completeWorkflow, saveOwnBundle, showState, startWorkflow } from './commands/workflow.ts';
import { about, asFailure, CommandFailure, type ExitCode, exitCodes, misuse } from './failure.ts';
import { filesOf, stampsBeside } from './operands.ts';
import { openWorkflow, readStampRecord, stampIdIn, stampRecordPathOf, workflowFileName } from './records.ts';
import { type Terminal, textsFor } from './terminal.ts';

/**
 * Serves the tools below to the assistant that has started this process, until it closes standard input. A tool does the work of a command, in the
 * folders that the user allows, and answers with what the command would print. A fault in the settings is answered by the tools too, because
 * assistants do not show what a server prints.
 */
export function serveAssistant(allowed: readonly string[], context: Context): void {
  const inTurn = oneAtATime();
  serveStdio(() => createServer(allowed, context, inTurn));
}

type InTurn = (work: () => Promise<unknown>) => Promise<unknown>;

/** Assistants call tools in parallel. Two calls for one file must not make two results, and results are numbered in the order of the calls. */
function oneAtATime(): InTurn {
  let last: Promise<unknown> = Promise.resolve();
  return (work) => {
    const done = last.then(work);
    last = done.catch(() => undefined);
    return done;
  };
}

const instructions =
  'Proves that files existed at a time, with trusted time-stamps (RFC 3161). Give paths; files are hashed on this machine and only hashes are sent. ' +
  'stamp_files makes stamps and saves each beside its file; verify_file judges them. For a piece of work for a client: workflow_start, ' +
  'workflow_add_files for each result in order, workflow_complete.';

const path = z.string().min(1).describe('absolute, or relative to the first allowed folder');
const paths = z
  .array(path)
  .min(1)
  .describe('files, or folders for all files in them; hidden files, symbolic links, stamps and evidence bundles are left out');
const workflow = path.default(workflowFileName).describe(`the workflow file (default ${workflowFileName} in the first allowed folder)`);

const reading = { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false };
const adding = { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: true };

function createServer(allowed: readonly string[], context: Context, inTurn: InTurn): McpServer {
  const server = new McpServer({ name: 'qstamp', title: 'qstamp', version }, { instructions });

  /** A workflow file may come with somebody's repository, so it must not choose the service that an assistant asks. */
  const connect = (service?: string) => {
    const client = context.connect();
    if (service === undefined || isSameService(service, client.baseUrl)) return client;
    throw misuse(`this workflow is at ${service}, but QSTAMP_URL of this server is ${client.baseUrl}; only the user can change that`);
  };

  /** Adds a tool. `run` does the work of commands, which print into `call.terminal`. */
  function add<Input extends z.ZodObject>(
    name: string,
    { input, ...described }: { title: string; description: string; annotations: typeof reading; input: Input },
    run: (given: z.output<Input>, call: Context & Allowed) => Promise<unknown>,
  ): void {
    server.registerTool<z.ZodObject, z.ZodObject>(name, { ...described, inputSchema: input }, async (given, call) => {
      const said = collectSaid((address) => context.connect().addressOf(address));
      try {
        const usable = allowed.length > 0 ? await Promise.all(allowed.map(folderOf)) : await rootsOf(server, call);
        if ('resultType' in usable) return usable;
        if (usable.length === 0) throw noFolder();
        await inTurn(() => run(given as z.output<Input>, { ...context, connect, terminal: said.terminal, ...allowedIn(usable) }));
      } catch (error) {
        said.terminal.problem(undefined, error);
      }
      return said.answer();
    });
  }

  add(
    'stamp_files',
    {
      title: 'Stamp files',
      description:
        'Obtain trusted time-stamps for files: proof that each existed at the time of its stamp. Each stamp is saved beside its file as FILE.qstamp.json; ' +
        'keep it there, verify_file needs it. A file that has a stamp keeps it: the older time proves more. ' +
        'Use workflow_start instead if the files are results of work for a client.',
      annotations: { ...adding, idempotentHint: true },
      input: z.strictObject({ paths }),
    },
    async ({ paths }, call) => stampFiles(await call.files(paths), { tier: 'basic' }, call.connect(), call),
  );

  add(
    'verify_file',
    {
      title: 'Verify a file',
      description:
        'Check on this machine whether a file is the one that was time-stamped, with the stamp beside it and the certificates that the user trusts. The file ' +
        'may be an evidence bundle of a workflow (workflow-ID.zip). verdict is valid (issued_at is the time at which the file existed), not_valid, or ' +
        'not_proved (the user trusts no certificate that confirms the stamp); reason says why. Nothing is sent.',
      annotations: reading,
      input: z.strictObject({ path, bundle: path.optional().describe('an evidence bundle, to check whether the file is a result in it') }),
    },
    async ({ path, bundle = [] }, call) => verifyAll(await call.files([bundle, path].flat()), {}, call),
  );

  add(
    'show_stamp',
    {
      title: 'Show the stamp of a file',
      description:
        'Read what the stamp beside a file says: its id, time, provider and the address of its page. It verifies nothing; verify_file does. Nothing is sent.',
      annotations: reading,
      input: z.strictObject({ path }),
    },
    async ({ path }, call) => {
      const [file = ''] = await call.files([path]);
      const record = await readStampRecord(stampRecordPathOf(file));
      if (record === undefined) throw new CommandFailure(exitCodes.file, `${file}: there is no stamp beside it; stamp_files makes one`);
      const stated = record.kind === 'stamp' ? { stamp: record.stamp } : { workflow_id: record.workflow_id, output: record.output };
      const page = `${record.service}${record.kind === 'stamp' ? verifyPath(stampIdIn(record)) : workflowPath(record.workflow_id)}`;
      call.terminal.result({ file, sha256: record.sha256, service: record.service, ...stated }, `${file}: its page is ${page}`);
    },
  );

  add(
    'workflow_start',
    {
      title: 'Start a workflow',
      description:
        'Start a workflow: a piece of work for a client. Its results are time-stamped one after the other. At the end, one time-stamp covers them all. ' +
        'Call it once, before the first result. In the tier standard you can add files at once. It mails the client a link that confirms the address, so give only an address that your user named (user_email). agent_id names you. ' +
        'Leave tier at standard unless your user asks for another: in the tiers verified and qualified nothing can be stamped until the client has confirmed ' +
        'the e-mail address. The secret of the workflow is saved in the workflow file: never read or show that file.',
      annotations: adding,
      input: z.strictObject({
        user_email: z.string().describe('the e-mail address of the client'),
        agent_id: z.string().describe('your name'),
        briefing: path.optional().describe('a file with the task as given; only its hash is sent'),
        briefing_text: z.string().min(1).optional().describe('instead of briefing: the task as given; only its hash is sent'),
        tier: z.enum(workflowTiers).default('standard'),
        locale: z.enum(languages).default('en').describe('the language of the mails to the client'),
        title: z.string().optional().describe('a title of the task, shown on the public page of the workflow'),
        workflow,
      }),
    },
    async ({ user_email: email, agent_id: agent, briefing, briefing_text: text, tier, locale, title, workflow }, call) => {
      if ((briefing === undefined) === (text === undefined)) throw misuse('give one of briefing and briefing_text');
      const [file] = briefing === undefined ? [] : await call.files([briefing]);
      const briefed = file === undefined ? { briefingHash: hash('sha256', text ?? '') } : { briefing: file };
      const place = await call.newFile(workflow);
      await startWorkflow({ email, agent, ...briefed, tier, locale, workflow: place, ...(title !== undefined && { title }) }, call);
    },
  );

  add(
    'workflow_add_files',
    {
      title: 'Stamp results of a workflow',
      description:
        'Time-stamp results of a workflow and add them to its chain, in the order of paths: it is the order in the record. Call it when a result is finished, ' +
        'one call after the other. It stops at the first failure. Then call it again with the same paths: files that are in the workflow already are left ' +
        'out. If a file has an older stamp, that stamp is kept under another name. This cannot be undone.',
      annotations: { ...adding, idempotentHint: true },
      input: z.strictObject({
        paths,
        output_type: z.string().optional().describe('text, image, code, audio, video, layout or another; default: from the file name'),
        show_name: z.boolean().default(false).describe('show the names of the files on the public page of the workflow'),
        workflow,
      }),
    },
    async ({ paths, output_type: type, show_name, workflow }, call) => {
      const options = {
        workflow: await call.workflowFile(workflow),
        skipsOutputs: true as const,
        ...(type !== undefined && { type }),
        ...(show_name && { showName: true as const }),
      };
      await addOutputs(await call.files(paths), options, call);
    },
  );

  add(
    'workflow_status',
    {
      title: 'Read the state of a workflow',
      description:
        'Read the state of a workflow: status (`pending` until the client has confirmed the e-mail address, then `active`, `completed` or `expired`), ' +
        'output_count, and whether the mail was sent. It only reads the record and verifies nothing.',
      annotations: { ...reading, openWorldHint: true },
      input: z.strictObject({ workflow }),
    },
    async ({ workflow }, call) => showState(await call.workflowFile(workflow), call),
  );

  add(
    'workflow_complete',
    {
      title: 'Complete a workflow',
      description:
        'Close a workflow. One time-stamp then covers all its results. Its evidence is saved beside the workflow file as workflow-ID.zip, which anybody can ' +
        'check without the service. Call it once, after the last result: a workflow without results is refused, nothing can be added afterwards, and it cannot be undone. Give your user the page and the zip file.',
      annotations: { ...adding, idempotentHint: true },
      input: z.strictObject({ workflow }),
    },
    async ({ workflow }, call) => {
      const file = await call.workflowFile(workflow);
      const refuseEmpty = async () => {
        throw misuse('this workflow has no results yet, so it stays open; workflow_add_files adds them');
      };
      await completeWorkflow(file, refuseEmpty, call);
      const { workflow_id } = await openWorkflow(file);
      const bundle = join(dirname(file), `workflow-${workflow_id}.zip`);
      if (existsSync(bundle)) call.terminal.result({ workflow_id, bundle }, `its evidence was saved before, as ${bundle}`);
      else await saveOwnBundle(file, bundle, call);
    },
  );
  return server;
}

const noFolder = () =>
  misuse(
    'no folder is allowed; ask the user to add --allow and a folder to the command of this server (qstamp mcp --allow FOLDER), and to start it again',
  );

/** An allowed folder as it really is. @throws CommandFailure if there is none */
async function folderOf(given: string): Promise<string> {
  const folder = given.replace(/^~(?=\/|$)/, homedir());
  if ((await stat(folder).catch(() => undefined))?.isDirectory()) return realpath(folder);
  throw misuse(`--allow ${given}: there is no such folder; ask the user to correct it in the settings of this server`);
}

/** The folders that the client names as its roots. It is asked for them, unless it has none. */
async function rootsOf(server: McpServer, { mcpReq: { envelope, inputResponses } }: ServerContext) {
  // In the revision of 2026-07-28, each request names the capabilities. In older ones, the handshake does.
  const named: { readonly [CLIENT_CAPABILITIES_META_KEY]?: ClientCapabilities } | undefined = envelope;
  const capabilities = named?.[CLIENT_CAPABILITIES_META_KEY] ?? server.server.getClientCapabilities();
  if (capabilities?.roots === undefined) return [];
  const answer = inputResponse(inputResponses, 'roots');
  if (answer.kind !== 'roots') return inputRequired({ inputRequests: { roots: inputRequired.listRoots() } });
  const local = answer.roots.filter(({ uri }) => uri.startsWith('file:'));
  const found = await Promise.allSettled(local.map(async ({ uri }) => realpath(fileURLToPath(uri))));
  return found.flatMap((root) => (root.status === 'fulfilled' ? root.value : []));
}

type Allowed = ReturnType<typeof allowedIn>;

/** The paths that a tool may use. Symbolic links are followed first, so that none leads out of the folders. */
function allowedIn(folders: readonly string[]) {
  /** @throws CommandFailure if there is no such file, or if it is in none of the folders */
  async function file(given: string): Promise<string> {
    const real = await about(given, () => realpath(resolve(folders[0]!, given)));
    const isInside = (folder: string) => real === folder || real.startsWith(folder.endsWith(sep) ? folder : `${folder}${sep}`);
    if (folders.some(isInside)) return real;
    throw misuse(`${given} is in no allowed folder (${folders.join(', ')}); ask the user to start this server with --allow and its folder`);
  }
  /** A file that need not exist, in an existing folder. */
  const newFile = async (given: string): Promise<string> => join(await file(dirname(given)), basename(given));
  return {
    newFile,
    /** A file that is opened later. If it does not exist, that fails. */
    workflowFile: async (given: string): Promise<string> => (existsSync(await newFile(given)) ? file(given) : newFile(given)),
    /** Existing files and folders. The stamps beside the files must be inside too, and the files beside stamps. */
    async files(given: readonly string[]): Promise<string[]> {
      const found = await Promise.all(given.map(file));
      const { files } = await filesOf(found, collectSaid(String).terminal, () => false);
      for (const each of files) {
        for (const beside of [...stampsBeside(each), ...stampedBeside(each)]) if (existsSync(beside)) await file(beside);
      }
      return found;
    },
  };
}

/** The files whose stamp this may be: `a.b` and `a` for `a.b.tsr`. */
function stampedBeside(path: string): string[] {
  const parts = basename(path).split('.');
  return parts.slice(1).map((_, at) => join(dirname(path), parts.slice(0, at + 1).join('.')));
}

/** No assistant reads more. The stamps of all files are beside them. */
const mostResults = 100;

/** A terminal that keeps what commands print, and the answer of a tool with it. */
function collectSaid(addressOf: (address: string) => string) {
  const results: { readonly verdict?: unknown; readonly summary: string }[] = [];
  const problems: { readonly file?: string; readonly message: string }[] = [];
  let code: ExitCode = exitCodes.ok;
  const result: Terminal['result'] = (value, line, details = []) =>
    void results.push({ ...shownTo(value, addressOf), summary: textsFor('tool', [line, ...details]).join('\n') });
  const terminal: Terminal = {
    json: true,
    showsProgress: false,
    count: () => undefined,
    exitCode: () => code,
    result,
    done: (_word, value, line, details) => result(value, line, details),
    text: () => undefined,
    problem: (file, error) => {
      const failure = asFailure(error);
      if (!(failure instanceof CommandFailure)) throw failure;
      code = failure.exitCode;
      problems.push({ ...(file !== undefined && { file }), message: failure.sentenceFor('tool'), ...failure.details });
    },
    summary: () => undefined,
    track: () => () => undefined,
  };
  function answer() {
    const unlisted = Math.max(0, results.length - mostResults);
    const count = (wanted: Verdict) => results.filter(({ verdict }) => verdict === wanted).length;
    const verdicts = { valid: count('valid'), not_valid: count('not_valid'), not_proved: count('not_proved') };
    const isVerdict = results.some(({ verdict }) => verdict !== undefined);
    const said = {
      ...(isVerdict ? { verdicts } : { done: results.length }),
      failed: problems.length,
      results: results.slice(0, mostResults),
      ...(unlisted > 0 && { results_not_listed: unlisted }),
      problems: problems.slice(0, mostResults),
    };
    const counts = Object.entries({ ...(isVerdict ? verdicts : { done: results.length }), failed: problems.length });
    const lines = [
      counts.map(([word, count]) => `${word}: ${count}`).join(', '),
      ...said.results.map(({ summary }) => summary),
      ...said.problems.map(({ file, message }) => (file === undefined ? message : `${file}: ${message}`)),
    ];
    return { content: [{ type: 'text' as const, text: lines.join('\n') }], structuredContent: said, isError: results.length === 0 };
  }
  return { terminal, answer };
}

/** An assistant needs none of these members. Tokens have thousands of characters, and are in the saved stamps. */
const notShown = ['token', 'commitment_salts', 'chain_hash'];

/** A result as an assistant gets it, with whole addresses. */
const shownTo = (value: object, addressOf: (address: string) => string): object =>
  JSON.parse(
    JSON.stringify(value, (name, member) => {
      if (notShown.includes(name)) return undefined;
      return name.endsWith('_url') && typeof member === 'string' ? addressOf(member) : member;
    }),
  );
