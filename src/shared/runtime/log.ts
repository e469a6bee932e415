import { type DestinationStream, type Logger, type LoggerOptions, pino } from 'pino';

export type { Logger };

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
 * Returns the part of an error that is logged. Drivers attach whole commands, and documents with tokens, to their errors. So only members that are
 * known to be harmless are copied.
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

// The log is synchronous: an asynchronous log is flushed at exit, and if the pipe is broken, this flush never ends.
const standardOutput = () => pino.destination({ dest: 1, sync: true });

const warnLevel = 40;

/** Adds `outcome: failed` to every line of level warn or higher that has no other `outcome`. Refused requests are logged at most at level info. */
const failedFromWarnOn = (_merged: object, level: number) => (level >= warnLevel ? { outcome: 'failed' } : {});

/**
 * Makes a logger that writes one JSON line for each event, by default to standard output. Nothing is masked: a line is built from known fields, none of
 * which is secret (architecture rule 6). `process`: the kind of process (`api`, `worker`, `tsa`).
 */
export function createLogger(options: { level: string; process: string; destination?: DestinationStream }): Logger {
  const settings: LoggerOptions = {
    level: options.level,
    base: { process: options.process, pid: process.pid },
    timestamp: pino.stdTimeFunctions.isoTime,
    mixin: failedFromWarnOn,
    serializers: { err: (error: unknown) => describeError(error) },
    formatters: { level: (label) => ({ level: label }) },
  };
  return pino(settings, options.destination ?? standardOutput());
}
