import { once } from 'node:events';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline/promises';
import { version as ownVersion } from '../shared/contract/version.ts';
import { type Client, createClient, serviceUrl } from './client.ts';
import type { Command, Context } from './command.ts';
import { helpFor, helpOf, type Invocation, parseCommandLine } from './command-line.ts';
import { completionOf } from './commands/completion.ts';
import { lists } from './commands/lists.ts';
import { pack } from './commands/pack.ts';
import { renew } from './commands/renew.ts';
import { stamp } from './commands/stamp.ts';
import { trustAdd, trustList, trustRemove } from './commands/trust.ts';
import { verify } from './commands/verify.ts';
import {
  workflowAdd,
  workflowBundle,
  workflowComplete,
  workflowRedact,
  workflowResend,
  workflowStart,
  workflowStatus,
} from './commands/workflow.ts';
import { type ExitCode, exitCodes } from './failure.ts';
import { createTerminal } from './terminal.ts';

const version: Command = {
  name: 'version',
  operands: '',
  summary: 'print the version of this command, like --version',
  options: {},
  run: async (_operands, { json }, { terminal }) => {
    terminal.text(json ? `${JSON.stringify({ version: ownVersion })}\n` : `${ownVersion}\n`);
    return exitCodes.ok;
  },
};

const commands: readonly Command[] = [
  stamp,
  verify,
  pack,
  renew,
  trustAdd,
  trustList,
  trustRemove,
  lists,
  workflowStart,
  workflowAdd,
  workflowStatus,
  workflowResend,
  workflowComplete,
  workflowBundle,
  workflowRedact,
  completionOf(() => commands),
  version,
];

const { argv, env, stdin, stdout, stderr } = process;

function connect(): Client {
  const baseUrl = serviceUrl(env.QSTAMP_URL);
  const onUpload = (total: number) => {
    const advance = terminal.track('sent');
    return (count: number) => advance(count, total);
  };
  return createClient({
    baseUrl,
    serviceToken: env.QSTAMP_SERVICE_TOKEN || undefined,
    onUpload: terminal.showsProgress ? onUpload : undefined,
  });
}

async function ask(question: string): Promise<string | undefined> {
  if (!stdin.isTTY) return undefined;
  // With `terminal: false` the system's terminal edits the line, so Ctrl-C ends the command as usual.
  const lines = createInterface({ input: stdin, output: stderr, terminal: false });
  try {
    // Ctrl-D closes the input, which counts as no.
    return await Promise.race([lines.question(question), once(lines, 'close').then(() => '')]);
  } finally {
    lines.close();
  }
}

const args = argv.slice(2);
const terminal = createTerminal({
  json: args.includes('--json'),
  quiet: args.includes('--quiet'),
  stdout,
  stderr,
  help: helpFor(args, commands),
  environment: env,
});
const anchorsFolder = join(env.XDG_CONFIG_HOME || join(homedir(), '.config'), 'qstamp', 'anchors');
const context: Context = { terminal, connect, ask, stdin, anchorsFolder };

async function run(asked: Invocation): Promise<ExitCode> {
  if (asked.what === 'run') return asked.command.run(asked.operands, asked.values, context);
  if (asked.what === 'version') return version.run([], asked.values, context);
  terminal.text(helpOf(asked.name, commands));
  return exitCodes.ok;
}

try {
  process.exitCode = await run(parseCommandLine(args, commands));
} catch (error) {
  process.exitCode = terminal.problem(undefined, error);
}
