import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { checkoutDir } from '../../scripts/stack/context.ts';
import { type Outcome, runToEnd } from '../../scripts/stack/run.ts';
import type { OperatorCommand } from '../../src/operator/operator-command.ts';
import { inherited } from './environment.ts';

export type CommandOutcome = Omit<Outcome, 'output'>;

export interface CommandOptions {
  readonly cwd: string;
  readonly env?: Readonly<Record<string, string>>;
}

/** Runs `qstamp` like its users, and waits for its end. */
export async function runCommand(args: readonly string[], { cwd, env = {} }: CommandOptions): Promise<CommandOutcome> {
  const command = [join(checkoutDir, 'bin/qstamp.mjs'), ...args];
  const { code, stdout, stderr } = await runToEnd(process.execPath, command, { cwd, env: { ...inherited, ...env } });
  return { code, stdout, stderr };
}

/**
 * Runs `qstamp` on a terminal of 100 columns. The output is everything that the terminal gets, with
 * `ESC` for the escape character. Arguments are words without special characters.
 */
export async function runOnTerminal(
  args: readonly string[],
  { cwd, env = {} }: CommandOptions,
): Promise<{ code: number | null; output: string }> {
  const command = `stty cols 100; exec ${process.execPath} ${join(checkoutDir, 'bin/qstamp.mjs')} ${args.join(' ')}`;
  const options = { cwd, env: { ...inherited, TERM: 'xterm', ...env } };
  const { code, stdout } = await runToEnd('script', ['--quiet', '--return', '--command', command, '/dev/null'], options);
  return { code, output: stdout.replaceAll('\r\n', '\n').replaceAll('\x1b', 'ESC') };
}

/** Runs `qstamp` like `runCommand`, and also returns the most memory that it held, in MiB. */
export async function runMeasured(
  args: readonly string[],
  { cwd, env = {} }: CommandOptions,
): Promise<CommandOutcome & { peakMebibytes: number }> {
  const script = join(cwd, 'peak.cjs');
  writeFileSync(
    script,
    // Not `resourceUsage().maxRSS`: it begins with the memory of the process that forked this one.
    `const { readFileSync, writeFileSync } = require('node:fs');
     const peak = () => /^VmHWM:\\s+(\\d+) kB$/m.exec(readFileSync('/proc/self/status', 'utf8'))[1];
     process.on('exit', () => writeFileSync(__dirname + '/peak', peak()));`,
  );
  const outcome = await runCommand(args, { cwd, env: { ...env, NODE_OPTIONS: `--require ${script}` } });
  return { ...outcome, peakMebibytes: Number(readFileSync(join(cwd, 'peak'), 'utf8')) / 1024 };
}

/** Runs an operator command in the process of the test, which is cheaper. */
export async function runOperator(
  run: (command: OperatorCommand) => Promise<number>,
  args: readonly string[],
  environment: OperatorCommand['environment'],
): Promise<CommandOutcome> {
  const printed = { stdout: '', stderr: '' };
  const sink = (name: keyof typeof printed) => ({ write: (text: string) => (printed[name] += text) });
  const code = await run({ args, environment, stdout: sink('stdout'), stderr: sink('stderr') });
  return { code, ...printed };
}

/** The results of a command with `--json`. */
export const jsonLines = ({ stdout }: Pick<CommandOutcome, 'stdout'>): Record<string, unknown>[] =>
  stdout
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Record<string, unknown>);

/** An empty folder, removed when the test ends. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'qstamp-command-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return folder;
}
