import { asFailure, CommandFailure, type ExitCode, exitCodes } from './failure.ts';

/** Prints results, problems and progress. */
export interface Terminal {
  /**
   * Prints one result: with `--json` it prints `value` as one line of JSON, otherwise `line` with `details` below it. Text from others in these lines
   * can neither start a new line nor control the terminal.
   */
  result(value: object, line: string, details?: readonly string[]): void;
  /** Prints a problem with one file or name, and returns the exit code. An error that is not a CommandFailure is thrown again. */
  problem(subject: string | undefined, error: unknown): ExitCode;
  /** Shows progress on the last line of a terminal. Does nothing if standard error is not a terminal, or with `--json`. */
  progress(text: string): void;
}

export interface TerminalOptions {
  readonly json: boolean;
  readonly stdout: NodeJS.WritableStream;
  readonly stderr: NodeJS.WritableStream & { readonly isTTY?: boolean };
}

const eraseLine = '\r\x1b[K';
const progressEveryMs = 100;

export function createTerminal({ json, stdout, stderr }: TerminalOptions): Terminal {
  const showsProgress = stderr.isTTY === true && !json;
  let shownAt = Number.NEGATIVE_INFINITY;
  const erase = () => {
    if (showsProgress) stderr.write(eraseLine);
  };
  return {
    result(value, line, details = []) {
      erase();
      stdout.write(json ? `${JSON.stringify(value)}\n` : `${[line, ...details].map(onOneLine).join('\n  ')}\n`);
    },
    problem(subject, error) {
      const failure = asFailure(error);
      if (!(failure instanceof CommandFailure)) throw failure;
      erase();
      const { message, details } = failure;
      if (json) stdout.write(`${JSON.stringify({ ...(subject !== undefined && { subject }), error: { message, ...details } })}\n`);
      else stderr.write(`${onOneLine(`${subject ?? 'qstamp'}: ${message}`)}\n`);
      return failure.exitCode;
    },
    progress(text) {
      const now = performance.now();
      if (!showsProgress || now - shownAt < progressEveryMs) return;
      shownAt = now;
      stderr.write(`${eraseLine}${onOneLine(text)}`);
    },
  };
}

/** The exit code for several results: the smallest that is not 0. */
export const worstOf = (codes: readonly ExitCode[]): ExitCode => codes.filter((code) => code !== exitCodes.ok).sort()[0] ?? exitCodes.ok;

/** Runs `work` for each item, at most `limit` at a time. */
export async function forEachAtMost<Item>(limit: number, items: readonly Item[], work: (item: Item) => Promise<void>): Promise<void> {
  const left = items.values();
  const worker = async () => {
    for (const item of left) await work(item);
  };
  await Promise.all(Array.from({ length: Math.min(limit, items.length) }, worker));
}

/**
 * Replaces each sequence of control characters and blanks by one blank. With many blanks, a name from others could fill the line and continue on the
 * following line. The last five characters in the pattern are letters and a symbol that look like blanks.
 */
export const onOneLine = (text: string): string => text.replace(/[\p{C}\p{Z}\u115f\u1160\u3164\uffa0\u2800]+/gu, ' ');

/** `1 output`, `2 outputs`. */
export const countOf = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? '' : 's'}`;

const units = ['bytes', 'kB', 'MB', 'GB', 'TB'];

/** A size in words: `1 byte`, `12.4 MB`; 1 kB is 1000 bytes. */
export function readableSize(bytes: number): string {
  if (bytes === 1) return '1 byte';
  let amount = bytes;
  let unit = 0;
  // An amount from 999.95 on would be shown as 1000.0, so the next unit is used.
  for (; amount >= (unit === 0 ? 1000 : 999.95) && unit < units.length - 1; unit += 1) amount /= 1000;
  return `${unit === 0 ? amount : amount.toFixed(1)} ${units[unit]}`;
}
