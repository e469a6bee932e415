import { type DestinationStream, type Logger, type LoggerOptions, pino } from 'pino';

export type { Logger };

/** What must never reach a log, wherever an object that holds it is logged (architecture rule 6, S11, W10). */
const redactedMembers = [
  'token',
  'hash_secret',
  'workflow_token',
  'challenge',
  'user_email',
  'email',
  'content_b64',
  'sealed_storage_url',
  'authorization',
];

interface LoggedError {
  readonly type: string;
  readonly message: string;
  readonly stack?: string;
  readonly code?: string | number;
  readonly cause?: LoggedError;
  readonly errors?: readonly LoggedError[];
}

const deepestCause = 8;

/**
 * What the log says about an error. Drivers attach whole commands and documents to theirs, with tokens in them, so only members that are
 * known to be harmless are taken.
 */
function describeError(error: unknown, depth = 0): LoggedError {
  if (!(error instanceof Error)) return { type: typeof error, message: typeof error === 'string' ? error : 'not an error' };
  const { name, message, stack, cause } = error;
  const code: unknown = 'code' in error ? error.code : undefined;
  const isDeep = depth >= deepestCause;
  return {
    type: name,
    message,
    ...(stack !== undefined && { stack }),
    ...((typeof code === 'string' || typeof code === 'number') && { code }),
    ...(cause !== undefined && !isDeep && { cause: describeError(cause, depth + 1) }),
    ...(error instanceof AggregateError && !isDeep && { errors: error.errors.map((each) => describeError(each, depth + 1)) }),
  };
}

// Written at once. An asynchronous log is flushed when the process ends, and with a broken pipe that goes on for ever.
const standardOutput = () => pino.destination({ dest: 1, sync: true });

const warnLevel = 40;

/** From level warn on a line tells a failure, unless it says that it is advice. What is refused is never above level info. */
const failedFromWarnOn = (_merged: object, level: number) => (level >= warnLevel ? { outcome: 'failed' } : {});

/**
 * One JSON line an event, on standard output unless told. `outcome` tells failures from all else. `process` names the kind of process (`api`, `worker`, `tsa`).
 */
export function createLogger(options: { level: string; process: string; destination?: DestinationStream }): Logger {
  const settings: LoggerOptions = {
    level: options.level,
    base: { process: options.process, pid: process.pid },
    timestamp: pino.stdTimeFunctions.isoTime,
    mixin: failedFromWarnOn,
    serializers: { err: (error: unknown) => describeError(error) },
    formatters: { level: (label) => ({ level: label }) },
    redact: { paths: redactedMembers.flatMap((name) => [name, `*.${name}`]), censor: '[REDACTED]' },
  };
  return pino(settings, options.destination ?? standardOutput());
}
