import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { checkoutDir } from '../../scripts/stack/context.ts';
import { inherited } from './environment.ts';

export interface CommandOutcome {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface CommandOptions {
  readonly cwd: string;
  readonly env?: Readonly<Record<string, string>>;
  /** Told of the process once it runs. */
  readonly onStart?: (pid: number) => void;
}

/** Runs `qstamp` as its users do, and waits for its end. */
export function runCommand(args: readonly string[], { cwd, env = {}, onStart }: CommandOptions): Promise<CommandOutcome> {
  const command = spawn(process.execPath, [join(checkoutDir, 'bin/qstamp.mjs'), ...args], {
    cwd,
    env: { ...inherited, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  if (command.pid !== undefined) onStart?.(command.pid);
  const { promise, resolve, reject } = Promise.withResolvers<CommandOutcome>();
  let stdout = '';
  let stderr = '';
  command.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text));
  command.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
  command.once('error', reject).once('close', (code) => resolve({ code, stdout, stderr }));
  return promise;
}

/** The results of a command with `--json`. */
export const jsonLines = ({ stdout }: CommandOutcome): Record<string, unknown>[] =>
  stdout
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Record<string, unknown>);

/** An empty folder, gone when the test is. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'qstamp-command-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return folder;
}
