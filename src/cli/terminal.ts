import { styleText } from 'node:util';
import type { Verdict } from '../shared/domain/reasons.ts';
import { type Advice, asFailure, CommandFailure, type ExitCode, exitCodes, Misuse } from './failure.ts';

export const notTried = 'not tried';

export type Output = NodeJS.WritableStream & { readonly isTTY?: boolean; readonly columns?: number };

interface TerminalOptions {
  readonly json: boolean;
  readonly quiet: boolean;
  readonly stdout: Output;
  readonly stderr: Output;
  readonly help: () => string;
  readonly environment: Readonly<Record<string, string | undefined>>;
}

/** A line that is left out if there is nothing to say. */
export type Line = string | Advice | false | null | undefined;

/** The lines that there are. Advice is in the words of the reader. */
export const textsFor = (reader: keyof Advice, lines: readonly Line[]): string[] =>
  lines.flatMap((line) => (typeof line === 'object' ? line?.[reader] : line) || []);

export type Terminal = ReturnType<typeof createTerminal>;

const eraseLine = '\r\x1b[K';
const progressEveryMs = 100;

const signs = { valid: ['green', '✓'], not_valid: ['red', '✗'], not_proved: ['yellow', '!'] } as const;

/** Prints results, problems and progress, and counts what became of the files. */
export function createTerminal({ json, quiet, stdout, stderr, help, environment }: TerminalOptions) {
  const isDumb = environment.TERM === 'dumb';
  const showsProgress = stderr.isTTY === true && !isDumb && !json && !quiet;
  const outcomes: { readonly code: ExitCode; readonly word: string }[] = [];
  let shownAt = Number.NEGATIVE_INFINITY;
  const erase = () => {
    if (showsProgress) stderr.write(eraseLine);
  };
  /** The sign before a line on a terminal; empty elsewhere. */
  const signOf = (verdict: Verdict | undefined, { isTTY }: Output): string => {
    if (verdict === undefined || !isTTY || isDumb || environment.NO_COLOR) return '';
    const [color, sign] = signs[verdict];
    // The stream was checked above. Node's own check would obey FORCE_COLOR in a pipe too.
    return `${styleText(color, sign, { validateStream: false })} `;
  };
  /** Counts what became of one file, in one or two words such as `not valid`. */
  const count = (word: string, code: ExitCode = exitCodes.ok) => void outcomes.push({ code, word });
  /** The smallest code that is not 0 among all that was counted. */
  const exitCode = (): ExitCode => {
    const [smallest = exitCodes.ok] = outcomes.flatMap(({ code }) => (code === exitCodes.ok ? [] : code)).sort();
    return smallest;
  };
  /**
   * Prints one result: with `--json` it prints `value` as one line of JSON, otherwise `line` with `details` below it. Text from others in these
   * lines can neither start a new line nor control the terminal. With `--quiet` it prints only what is not valid.
   *
   * @param verdict decides the sign before the line. A result that only informs has no sign
   */
  function result(value: object, line: string, details: readonly Line[] = [], verdict?: Verdict): void {
    if (quiet && (verdict === undefined || verdict === 'valid')) return;
    erase();
    const lines = textsFor('command', [line, ...details]).map(onOneLine);
    stdout.write(json ? `${JSON.stringify(value)}\n` : `${signOf(verdict, stdout)}${lines.join('\n  ')}\n`);
  }
  return {
    json,
    showsProgress,
    count,
    exitCode,
    result,
    /** Prints the result of work that is done for one file, and counts it in a word such as `stamped`. */
    done(word: string, value: object, line: string, details: readonly Line[] = []): void {
      result(value, line, details, 'valid');
      count(word);
    },
    /** Prints text for people or programs as it is, for example a help or a script. */
    text: (text: string) => void stdout.write(text),
    /** Prints a problem with one file or name, and counts it. An error that is not a CommandFailure is thrown again. */
    problem(file: string | undefined, error: unknown, word = 'failed'): void {
      const failure = asFailure(error);
      if (!(failure instanceof CommandFailure)) throw failure;
      erase();
      const sentence = failure.sentenceFor('command');
      const message = failure instanceof Misuse ? `${sentence} (see ${help()})` : sentence;
      if (json) stdout.write(`${JSON.stringify({ ...(file !== undefined && { file }), error: { message, ...failure.details } })}\n`);
      else stderr.write(`${signOf('not_valid', stderr)}${onOneLine(`${file ?? 'qstamp'}: ${message}`)}\n`);
      count(word, failure.exitCode);
    },
    /** If several files were counted, prints what became of them in one line. */
    summary(): void {
      if (outcomes.length < 2 || json || quiet) return;
      erase();
      // Successes come first, files that were not tried last.
      const rankOf = ({ code, word }: (typeof outcomes)[number]) => (word === notTried ? 100 : code);
      const sorted = outcomes.toSorted((a, b) => rankOf(a) - rankOf(b) || (a.word < b.word ? -1 : 1));
      const words = [...new Set(sorted.map(({ word }) => word))];
      const counts = words.map((word) => `${outcomes.filter((outcome) => outcome.word === word).length} ${word}`);
      const verdict = exitCode() === exitCodes.ok ? 'valid' : 'not_valid';
      stdout.write(`${signOf(verdict, stdout)}${countOf(outcomes.length, 'file')}: ${counts.join(', ')}\n`);
    },
    /**
     * Begins to show on the last line how far some work is. The returned function takes the amount done since its last call, and the total if it is
     * known. It does nothing if standard error is not a terminal, or with `--json` or `--quiet`.
     *
     * @param amountText writes an amount; by default, amounts are bytes
     */
    track(label: string | (() => string), amountText: (amount: number) => string = readableSize) {
      const began = performance.now();
      let done = 0;
      return (amount: number, total?: number): void => {
        done += amount;
        const now = performance.now();
        if (!showsProgress || now - shownAt < progressEveryMs) return;
        shownAt = now;
        const name = typeof label === 'string' ? label : label();
        const text = onOneLine(progressText(name, { done, total, elapsedMs: now - began, amountText }));
        // A line that is longer than the terminal is wide could not be erased again.
        stderr.write(`${eraseLine}${text.slice(0, (stderr.columns || 80) - 1)}`);
      };
    },
  };
}

/** Does `work` for each file, at most `limit` at a time. A failure is reported and counted, and does not stop the other files. */
export async function forEachFile(
  files: readonly string[],
  terminal: Terminal,
  work: (file: string) => Promise<void>,
  limit = 1,
): Promise<void> {
  const left = files.values();
  const worker = async () => {
    for (const file of left) {
      try {
        await work(file);
      } catch (error) {
        terminal.problem(file, error);
      }
    }
  };
  await Promise.all(Array.from({ length: limit }, worker));
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

/**
 * Gives every time in a text for people milliseconds, so that times line up: `T12:00:00Z` becomes `T12:00:00.000Z`. A token may state more digits;
 * they stay, because they are what was signed.
 */
export const withMilliseconds = (text: string): string => text.replace(/(T\d\d:\d\d:\d\d)Z/g, '$1.000Z');

interface Progress {
  readonly done: number;
  readonly total: number | undefined;
  readonly elapsedMs: number;
  readonly amountText: (amount: number) => string;
}

/** The first estimates of the remaining time jump, so none is shown before this. */
const leastElapsedMs = 1_000;

/** `a.iso: 41 % of 3.0 GB, 12 s left`, or `a.iso: 1.2 GB` if the total is unknown, for example on standard input. */
export function progressText(label: string, { done, total, elapsedMs, amountText }: Progress): string {
  if (total === undefined || total === 0) return `${label}: ${amountText(done)}`;
  const part = Math.min(1, done / total);
  const left = elapsedMs >= leastElapsedMs && part > 0 && part < 1 ? `, ${durationText((elapsedMs / part) * (1 - part))} left` : '';
  return `${label}: ${Math.floor(part * 100)} % of ${amountText(total)}${left}`;
}

/** `12 s`, `3 min 20 s`, `1 h 5 min`. */
function durationText(ms: number): string {
  const seconds = Math.max(1, Math.round(ms / 1000));
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  return minutes < 60 ? `${minutes} min ${seconds % 60} s` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}
