import { once } from 'node:events';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline/promises';
import { Command } from '@commander-js/extra-typings';
import { CommanderError } from 'commander';
import { version } from '../shared/contract/version.ts';
import { type Client, createClient } from './client.ts';
import type { Context, Program } from './command.ts';
import { addCompletionCommand } from './commands/completion.ts';
import { addListsCommand } from './commands/lists.ts';
import { addMcpCommand } from './commands/mcp.ts';
import { addPackCommand } from './commands/pack.ts';
import { addRenewCommand } from './commands/renew.ts';
import { addStampCommand } from './commands/stamp.ts';
import { addTrustCommands } from './commands/trust.ts';
import { addVerifyCommand } from './commands/verify.ts';
import { addWorkflowCommands } from './commands/workflow.ts';
import { type ExitCode, misuse } from './failure.ts';
import { createTerminal, type Output } from './terminal.ts';

export interface Surroundings {
  /** The command line, without Node and the name of the script. */
  readonly args: readonly string[];
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly stdin: NodeJS.ReadableStream & AsyncIterable<Uint8Array> & { readonly isTTY?: boolean };
  readonly stdout: Output;
  readonly stderr: Output;
  /** Adds the commands for operators, which are those of another room. Returns what `qstamp renew` without a file does. */
  readonly operator: (program: Program, end: (code: 0 | 1 | 2) => void) => () => Promise<void>;
}

/** Runs `qstamp`. Resolves with the exit code. */
export async function qstamp({ args, environment, stdin, stdout, stderr, operator }: Surroundings): Promise<ExitCode> {
  const terminal = createTerminal({
    json: args.includes('--json'),
    quiet: args.includes('--quiet'),
    stdout,
    stderr,
    help: () => `${helpedBy(program, args)} --help`,
    environment,
  });

  const onUpload = terminal.showsProgress ? () => terminal.track('sent') : undefined;
  const clients = new Map<string | undefined, Client>();
  const connect = (service?: string) => {
    const client = clients.get(service) ?? createClient(environment, { service, onUpload });
    clients.set(service, client);
    return client;
  };

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

  const anchorsFolder = join(environment.XDG_CONFIG_HOME || join(homedir(), '.config'), 'qstamp', 'anchors');
  const program: Program = createProgram({ terminal, connect, ask, stdin, anchorsFolder, renewDue: () => renewDue() });
  const renewDue = operator(program, (code) => terminal.count('done', code));
  try {
    await program.parseAsync(plainArgs(args), { from: 'user' });
    terminal.summary();
  } catch (error) {
    if (!(error instanceof CommanderError)) terminal.problem(undefined, error);
    // With code 0, commander has printed the help or the version.
    else if (error.exitCode !== 0) terminal.problem(undefined, misuse(sentenceOf(error)));
  }
  return terminal.exitCode();
}

/** Commander's own `help` takes one word, but `workflow start` has two. Without arguments, the command shows the overview. */
function plainArgs([first = '--help', ...others]: readonly string[]): string[] {
  return ['help', '--help', '-h'].includes(first) ? [...others, '--help'] : [first, ...others];
}

function helpedBy(program: Program, [word, ...others]: readonly string[]): string {
  if (word?.startsWith('-')) return helpedBy(program, others);
  const named = program.commands.find((command) => command.name() === word);
  return named ? `${program.name()} ${helpedBy(named, others)}` : program.name();
}

/** Commander writes `error: unknown option '--teir'`, and a suggestion on a line of its own. A group without a command gets its help. */
function sentenceOf({ code, message }: CommanderError): string {
  if (code === 'commander.help') return 'a command is missing';
  return message.replace(/^error: /, '').replace(/\n\(D(id you mean .*\?)\)$/, '; d$1');
}

const surroundings = `
Example:
  qstamp stamp contract.pdf                 saves the stamp as contract.pdf.qstamp.json
  qstamp verify contract.pdf --ca root.pem  checks it without the service; root.pem is the
                                            root certificate of the time-stamping authority

Environment:
  QSTAMP_URL             address of the service (default http://127.0.0.1:8080)
  QSTAMP_TOKEN           service token of your product, from the operator of the service (default: none)
  HTTPS_PROXY, HTTP_PROXY, NO_PROXY
                         proxies on the way to the service
  XDG_CONFIG_HOME        trust anchors are saved in its folder qstamp/anchors (default ~/.config)

Exit codes (for several results: the smallest that is not 0):
  0  done; every verified file is valid
  1  a verified file is not valid, or not proved
  2  the command line cannot be understood, or a file has an algorithm that is not known
  3  the service refused the request
  4  the service cannot be reached, or could not do it now
  5  a local file cannot be read or written, or would be overwritten`;

/** The definition of the whole command line. Commander throws its errors and exits as `CommanderError`, and the caller prints them. */
function createProgram(context: Context): Program {
  const { terminal } = context;
  const versionText = terminal.json ? JSON.stringify({ version }) : version;
  const program = new Command('qstamp')
    .description('trusted time-stamps for files')
    .exitOverride()
    .configureOutput({ writeOut: (text) => terminal.text(text), writeErr: () => undefined })
    .configureHelp({
      showGlobalOptions: true,
      subcommandTerm: (command) => command.name(),
      subcommandDescription: (command) => command.description().split('\n')[0]!,
    })
    .helpCommand('help [command]', 'help on a command; "qstamp help" also shows an example, environment and exit codes')
    .option('--json', 'one line of JSON for each result, on standard output')
    .option('--quiet', 'print only failures and results that are not valid')
    .version(versionText, '--version', 'print the version of this command')
    .addHelpText('after', surroundings);
  addStampCommand(program, context);
  addVerifyCommand(program, context);
  addPackCommand(program, context);
  addRenewCommand(program, context);
  addTrustCommands(program, context);
  addListsCommand(program, context);
  addWorkflowCommands(program, context);
  addMcpCommand(program, context);
  addCompletionCommand(program, context);
  program
    .command('version')
    .description('print the version of this command, like --version')
    .action(() => terminal.text(`${versionText}\n`));
  return program;
}
