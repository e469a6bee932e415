/** What the command ends with. Of several files the smallest that is not 0 counts: "not valid" is never hidden by a lesser trouble. */
export const exitCodes = {
  ok: 0,
  /** Something was verified, and is not valid, or not proved. */
  notValid: 1,
  /** The command line cannot be understood. */
  usage: 2,
  /** The service refused the request. */
  refused: 3,
  /** The service cannot be reached, or could not do it now. */
  unavailable: 4,
  /** A local file cannot be read, or would be overwritten. */
  file: 5,
} as const;

export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes];

/** Trouble that a person can do something about. `message` is one sentence; `details` go into the JSON answer. */
export class CommandFailure extends Error {
  override readonly name = 'CommandFailure';
  readonly exitCode: ExitCode;
  readonly details: Readonly<Record<string, unknown>>;

  constructor(exitCode: ExitCode, message: string, details: Readonly<Record<string, unknown>> = {}) {
    super(message);
    this.exitCode = exitCode;
    this.details = details;
  }
}

/** A command line that cannot be understood, in one sentence. */
export const misuse = (sentence: string): CommandFailure => new CommandFailure(exitCodes.usage, `${sentence} (see qstamp --help)`);

const fileFaults: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file',
  EACCES: 'the file may not be read or written',
  EPERM: 'the file may not be read or written',
  EISDIR: 'this is a directory',
  ENOTDIR: 'there is no such file',
  EEXIST: 'the file exists already',
  ENOSPC: 'the disk is full',
  EROFS: 'the disk is read-only',
};

/** An error as trouble with a file where the operating system says so; any other is a defect and stays what it is. */
export function asFailure(error: unknown): unknown {
  if (!(error instanceof Error) || !('code' in error)) return error;
  const fault = fileFaults[String(error.code)];
  return fault === undefined ? error : new CommandFailure(exitCodes.file, fault);
}
