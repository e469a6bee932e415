import { once } from 'node:events';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline/promises';
import { CommanderError } from 'commander';
import { type Client, createClient, serviceUrl } from './client.ts';
import type { Program } from './command.ts';
import { type ExitCode, misuse } from './failure.ts';
import { createProgram } from './program.ts';
import { createTerminal, type Output } from './terminal.ts';

/** What the process gives to the command. */
export interface Surroundings {
  /** The command line, without Node and the name of the script. */
  readonly args: readonly string[];
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly stdin: NodeJS.ReadableStream & AsyncIterable<Uint8Array> & { readonly isTTY?: boolean };
  readonly stdout: Output;
  readonly stderr: Output;
}

/** Runs `qstamp`. Resolves with the exit code. */
export async function qstamp({ args, environment, stdin, stdout, stderr }: Surroundings): Promise<ExitCode> {
  const terminal = createTerminal({
    json: args.includes('--json'),
    quiet: args.includes('--quiet'),
    stdout,
    stderr,
    help: () => `${helpedBy(program, args)} --help`,
    environment,
  });

  function connect(): Client {
    const onUpload = (total: number) => {
      const advance = terminal.track('sent');
      return (count: number) => advance(count, total);
    };
    return createClient({
      baseUrl: serviceUrl(environment.QSTAMP_URL),
      serviceToken: environment.QSTAMP_SERVICE_TOKEN || undefined,
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

  const anchorsFolder = join(environment.XDG_CONFIG_HOME || join(homedir(), '.config'), 'qstamp', 'anchors');
  const program: Program = createProgram({ terminal, connect, ask, stdin, anchorsFolder });
  try {
    await program.parseAsync(plainArgs(args), { from: 'user' });
  } catch (error) {
    if (!(error instanceof CommanderError)) terminal.problem(undefined, error);
    // With code 0, commander has printed the help or the version.
    else if (error.exitCode !== 0) terminal.problem(undefined, misuse(sentenceOf(error)));
  }
  return terminal.exitCode;
}

/** Commander's own `help` takes one word, but `workflow start` has two. Without arguments, the command shows the overview. */
function plainArgs([first = '--help', ...others]: readonly string[]): string[] {
  return ['help', '--help', '-h'].includes(first) ? [...others, '--help'] : [first, ...others];
}

/** The command or group that a command line names. */
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
