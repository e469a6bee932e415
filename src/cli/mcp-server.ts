import { existsSync } from 'node:fs';
import { realpath } from 'node:fs/promises';
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
import { workflowTiers } from '../shared/domain/stamp.ts';
import type { Context } from './command.ts';
import { stampFiles } from './commands/stamp.ts';
import { verifyAll } from './commands/verify.ts';
import { addOutputs, completeWorkflow, saveBundle, showState, startWorkflow } from './commands/workflow.ts';
import { about, asFailure, CommandFailure, type ExitCode, exitCodes, misuse } from './failure.ts';
import { filesOf, stampsBeside } from './operands.ts';
import { openWorkflow, readStampRecord, stampIdIn, stampRecordPathOf, workflowFileName } from './records.ts';
import { isText, type Terminal } from './terminal.ts';

/**
 * Serves the tools below to the assistant that has started this process, until it closes standard input. A tool does the work of a command, in the
 * folders that the user allows, and answers with what the command would print.
 *
 * @throws CommandFailure if a folder does not exist
 */
export async function serveAssistant(allowed: readonly string[], context: Context): Promise<void> {
  const folders = await Promise.all(allowed.map((folder) => about(`--allow ${folder}`, () => realpath(folder))));
  serveStdio(() => createServer(folders, context));
}

const instructions =
  'Proves that files existed at a time, with trusted time-stamps (RFC 3161). Give paths; files are hashed on this machine and only hashes are sent. ' +
  'stamp_files makes stamps and saves each beside its file; verify_file judges them. For a piece of work for a client: workflow_start, ' +
  'workflow_add_files for each result in order, workflow_complete.';

const path = z.string().min(1).describe('absolute, or relative to the first allowed folder');
const paths = z.array(path).min(1).describe('files, or folders for all files in them; hidden files and stamps are left out');
const workflow = path.default(workflowFileName).describe(`the workflow file (default ${workflowFileName} in the first allowed folder)`);

const reading = { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false };
const adding = { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: true };

function createServer(folders: readonly string[], context: Context): McpServer {
  const server = new McpServer({ name: 'qstamp', title: 'qstamp', version }, { instructions });
  const addressOf = (address: string) => context.connect().addressOf(address);

  /** Adds a tool. `run` does the work of commands, which print into `call.terminal`. */
  function add<Input extends z.ZodObject>(
    name: string,
    { input, ...described }: { title: string; description: string; annotations: typeof reading; input: Input },
    run: (given: z.output<Input>, call: Context & Allowed) => Promise<unknown>,
  ): void {
    server.registerTool<z.ZodObject, z.ZodObject>(name, { ...described, inputSchema: input }, async (given, call) => {
      const usable = folders.length > 0 ? folders : await rootsOf(server, call);
      if ('resultType' in usable) return usable;
      const said = collectSaid();
      try {
        if (usable.length === 0) throw noFolder();
        await run(given as z.output<Input>, { ...context, terminal: said.terminal, ...allowedIn(usable) });
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
        'keep it there, verify_file needs it. A file that was stamped before keeps its stamp, because an older stamp proves more. ' +
        'If a client should see a whole piece of work, use workflow_start instead.',
      annotations: { ...adding, idempotentHint: true },
      input: z.object({ paths, tier: z.enum(['basic', 'plus']).default('basic').describe('basic, unless your user asked for plus') }),
    },
    async ({ paths, tier }, call) => stampFiles(await call.files(paths), { tier }, call.connect(), call),
  );

  add(
    'verify_file',
    {
      title: 'Verify a file',
      description:
        'Check on this machine whether a file is the one that was time-stamped, with the stamp beside it and the certificates that the user trusts. A zip ' +
        'file may be the evidence of a workflow. verdict is valid (issued_at is the time at which the file existed), not_valid or not_proved (the user trusts ' +
        'no certificate that confirms it); reason says why. Nothing is sent.',
      annotations: reading,
      input: z.object({ path }),
    },
    async ({ path }, call) => verifyAll(await call.files([path]), {}, call),
  );

  add(
    'show_stamp',
    {
      title: 'Show the stamp of a file',
      description:
        'Read what the stamp beside a file says: its id, time, provider and the address of its page. It verifies nothing; verify_file does. Nothing is sent.',
      annotations: reading,
      input: z.object({ path }),
    },
    async ({ path }, call) => {
      const [file = ''] = await call.files([path]);
      const record = await readStampRecord(stampRecordPathOf(file));
      if (record === undefined) throw new CommandFailure(exitCodes.file, `${file}: there is no stamp beside it; stamp_files makes one`);
      const stated = record.kind === 'stamp' ? { stamp: record.stamp } : { workflow_id: record.workflow_id, output: record.output };
      const page = addressOf(record.kind === 'stamp' ? verifyPath(stampIdIn(record)) : workflowPath(record.workflow_id));
      call.terminal.result({ file, sha256: record.sha256, service: record.service, ...stated }, `${file}: its page is ${page}`);
    },
  );

  add(
    'workflow_start',
    {
      title: 'Start a workflow',
      description:
        'Start a workflow: a piece of work for a client. Its results are time-stamped one after the other and closed under one root. Call it once, before ' +
        'the first result. It mails the client a link that confirms the address, so give only an address that your user named (user_email). agent_id names you. ' +
        'Leave tier at standard unless your user asks for another: in the tiers verified and qualified nothing can be stamped until the client has confirmed ' +
        'the e-mail address. The secret of the workflow is saved in the workflow file: never read or show that file.',
      annotations: adding,
      input: z.object({
        user_email: z.string().describe('the e-mail address of the client'),
        agent_id: z.string().describe('your name'),
        briefing: path.describe('a file with the task as given; only its hash is sent'),
        tier: z.enum(workflowTiers).default('standard'),
        title: z.string().optional().describe('a title of the task, shown on the public page of the workflow'),
        workflow,
      }),
    },
    async ({ user_email: email, agent_id: agent, briefing, tier, title, workflow }, call) => {
      const [briefed = ''] = await call.files([briefing]);
      const place = await call.newFile(workflow);
      await startWorkflow({ email, agent, briefing: briefed, tier, workflow: place, ...(title !== undefined && { title }) }, call);
    },
  );

  add(
    'workflow_add_files',
    {
      title: 'Stamp results of a workflow',
      description:
        'Time-stamp results of a workflow and add them to its chain, in the order of paths: it is the order in the record. Call it when a result is finished, ' +
        'one call after the other. It stops at the first failure; call it again with the same folder, and it goes on where it stopped. This cannot be undone.',
      annotations: adding,
      input: z.object({
        paths,
        output_type: z.string().optional().describe('text, image, code, audio, video, layout or another; default: from the file name'),
        show_name: z.boolean().default(false).describe('show the names of the files on the public page of the workflow'),
        workflow,
      }),
    },
    async ({ paths, output_type: type, show_name, workflow }, call) => {
      const options = {
        workflow: await call.file(workflow),
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
      annotations: reading,
      input: z.object({ workflow }),
    },
    async ({ workflow }, call) => showState(await call.file(workflow), call),
  );

  add(
    'workflow_complete',
    {
      title: 'Complete a workflow',
      description:
        'Close a workflow under one time-stamped Merkle root, and save its evidence beside the workflow file as workflow-ID.zip: everything needed to check ' +
        'it without the service. Call it once, after the last result: nothing can be added afterwards, and it cannot be undone. Give your user the page and the zip file.',
      annotations: { ...adding, idempotentHint: true },
      input: z.object({ workflow }),
    },
    async ({ workflow }, call) => {
      const file = await call.file(workflow);
      await completeWorkflow(file, call);
      const { workflow_id } = await openWorkflow(file);
      const bundle = join(dirname(file), `workflow-${workflow_id}.zip`);
      if (existsSync(bundle)) call.terminal.result({ workflow_id, bundle }, `its evidence was saved before, as ${bundle}`);
      else await saveBundle(workflow_id, bundle, call);
    },
  );
  return server;
}

const noFolder = () =>
  misuse(
    'no folder is allowed; ask the user to add --allow and a folder to the command of this server (qstamp mcp --allow DIR), and to start it again',
  );

/** The folders that the client names as its roots. It is asked for them, unless it has none. */
async function rootsOf(server: McpServer, { mcpReq: { envelope, inputResponses } }: ServerContext) {
  // In the revision of 2026-07-28, each request names the capabilities. In older ones, the handshake does.
  const named: { readonly [CLIENT_CAPABILITIES_META_KEY]?: ClientCapabilities } | undefined = envelope;
  const capabilities = named?.[CLIENT_CAPABILITIES_META_KEY] ?? server.server.getClientCapabilities();
  if (capabilities?.roots === undefined) return [];
  const answer = inputResponse(inputResponses, 'roots');
  if (answer.kind !== 'roots') return inputRequired({ inputRequests: { roots: inputRequired.listRoots() } });
  const local = answer.roots.filter(({ uri }) => uri.startsWith('file:'));
  const found = await Promise.all(local.map(({ uri }) => realpath(fileURLToPath(uri)).catch(() => [])));
  return found.flat();
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
  return {
    file,
    /** Existing files and folders. The stamps beside the files must be inside too. */
    async files(given: readonly string[]): Promise<string[]> {
      const found = await Promise.all(given.map(file));
      const { files } = await filesOf(found, collectSaid().terminal);
      for (const each of files) for (const beside of stampsBeside(each)) if (existsSync(beside)) await file(beside);
      return found;
    },
    /** A file that need not exist, in an existing folder. */
    async newFile(given: string): Promise<string> {
      return join(await file(dirname(given)), basename(given));
    },
  };
}

/** No assistant reads more. The stamps of all files are beside them. */
const mostResults = 100;

/** A terminal that keeps what commands print, and the answer of a tool with it. */
function collectSaid() {
  const results: object[] = [];
  const problems: object[] = [];
  let code: ExitCode = exitCodes.ok;
  const result: Terminal['result'] = (value, line, details = []) =>
    void results.push({ ...withoutTokens(value), summary: [line, ...details].filter(isText).join('\n') });
  const terminal: Terminal = {
    json: true,
    showsProgress: false,
    count: () => undefined,
    exitCode: () => code,
    result,
    done: (_word, value, line, details) => result(value, line, details),
    text: () => undefined,
    problem: (subject, error) => {
      const failure = asFailure(error);
      if (!(failure instanceof CommandFailure)) throw failure;
      code = failure.exitCode;
      problems.push({ ...(subject !== undefined && { file: subject }), message: failure.message, ...failure.details });
    },
    summary: () => undefined,
    track: () => () => undefined,
  };
  function answer() {
    const unlisted = Math.max(0, results.length - mostResults);
    const said = {
      done: results.length,
      failed: problems.length,
      results: results.slice(0, mostResults),
      ...(unlisted > 0 && { results_not_listed: unlisted }),
      problems: problems.slice(0, mostResults),
    };
    return { content: [{ type: 'text' as const, text: JSON.stringify(said) }], structuredContent: said, isError: results.length === 0 };
  }
  return { terminal, answer };
}

/** Tokens have thousands of characters, and the saved stamps have them. */
const withoutTokens = (value: object): object =>
  JSON.parse(JSON.stringify(value, (name, member) => (name === 'token' ? undefined : member)));
