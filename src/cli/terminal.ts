import { asFailure, CommandFailure, type ExitCode, exitCodes } from './failure.ts';

/** Where results, trouble and progress go. */
export interface Terminal {
  /**
   * One result: `line`, and `details` below it, for people; `value` as one line of JSON with `--json`. A stranger's words in them can
   * neither start a line of their own nor command the terminal.
   */
  result(value: object, line: string, details?: readonly string[]): void;
  /** Trouble with one subject, e.g. a file; anything that is no CommandFailure is thrown again. */
  problem(subject: string | undefined, error: unknown): ExitCode;
  /** What is under way, on the last line of a terminal; nothing where standard error is none. */
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

/** The exit code of several: the smallest that is not 0. */
export const worstOf = (codes: readonly ExitCode[]): ExitCode => codes.filter((code) => code !== exitCodes.ok).sort()[0] ?? exitCodes.ok;

/** Does `work` for each item, at most `limit` at a time. */
export async function forEachAtMost<Item>(limit: number, items: readonly Item[], work: (item: Item) => Promise<void>): Promise<void> {
  const left = items.values();
  const worker = async () => {
    for (const item of left) await work(item);
  };
  await Promise.all(Array.from({ length: Math.min(limit, items.length) }, worker));
}

/**
 * A run of control characters and blanks becomes one blank: with many, a stranger's name would fill the line, and its end would stand on
 * the next one. The last five are letters and a symbol that are printed as blanks.
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
  // 999.95 would be rounded to 1000.0.
  for (; amount >= (unit === 0 ? 1000 : 999.95) && unit < units.length - 1; unit += 1) amount /= 1000;
  return `${unit === 0 ? amount : amount.toFixed(1)} ${units[unit]}`;
}
