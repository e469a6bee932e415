import { TrustMaterialError } from '../shared/rfc3161/index.ts';

/** The exit codes. For several files the smallest code that is not 0 counts, so that a smaller problem never hides "not valid". */
export const exitCodes = {
  ok: 0,
  notValid: 1,
  usage: 2,
  /** Something could not be checked, because the verifier does not know an algorithm. */
  unjudged: 2,
  refused: 3,
  /** The service cannot be reached, or cannot serve the request now. */
  unavailable: 4,
  /** A local file cannot be read, or would be overwritten. */
  file: 5,
} as const;

export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes];

/** What to do next, in the words of the command, and in those of the tools of `qstamp mcp`. */
export interface Advice {
  readonly command: string;
  /** Undefined if an assistant can do nothing. */
  readonly tool?: string;
}

/** An expected failure that the user can understand. `message` is one sentence; `details` are added to the JSON output. */
export class CommandFailure extends Error {
  override readonly name = 'CommandFailure';
  readonly exitCode: ExitCode;
  readonly details: Readonly<Record<string, unknown>>;
  readonly advice: Advice | undefined;

  constructor(exitCode: ExitCode, message: string, details: Readonly<Record<string, unknown>> = {}, advice?: Advice) {
    super(message);
    this.exitCode = exitCode;
    this.details = details;
    this.advice = advice;
  }

  /** The sentence with its advice. */
  sentenceFor(reader: keyof Advice): string {
    const advice = this.advice?.[reader];
    return advice === undefined ? this.message : `${this.message}; ${advice}`;
  }
}

/** A wrong command line. The terminal adds which help explains it. */
export class Misuse extends CommandFailure {}

export const misuse = (sentence: string, advice?: Advice): CommandFailure => new Misuse(exitCodes.usage, sentence, {}, advice);

const fileFaults: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file',
  EACCES: 'you may not read or write the file',
  EPERM: 'you may not read or write the file',
  EISDIR: 'this is a folder',
  ENOTDIR: 'there is no such file',
  EEXIST: 'the file already exists',
  ENOSPC: 'the disk is full',
  EDQUOT: 'the disk is full',
  EFBIG: 'the file is too large for this disk',
  EROFS: 'the disk is read-only',
};

/**
 * Does something that is called `name`, for example reads the file of this name. If it fails, `name` begins the sentence.
 *
 * @throws CommandFailure if the user can understand the failure
 */
export async function about<Value>(name: string, work: () => Promise<Value>): Promise<Value> {
  try {
    return await work();
  } catch (error) {
    const failure = asFailure(error);
    throw failure instanceof CommandFailure
      ? new CommandFailure(failure.exitCode, `${name}: ${failure.message}`, failure.details, failure.advice)
      : failure;
  }
}

/** Turns an error of the operating system about a file, or a fault in certificates, into a CommandFailure. Any other error is returned unchanged. */
export function asFailure(error: unknown): unknown {
  if (error instanceof TrustMaterialError) return new CommandFailure(exitCodes.file, error.message);
  if (!(error instanceof Error) || !('code' in error)) return error;
  const fault = fileFaults[String(error.code)];
  return fault === undefined ? error : new CommandFailure(exitCodes.file, fault);
}
