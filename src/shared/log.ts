import { type Logger, pino } from 'pino';

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

/**
 * One JSON line an event on standard output. `process` names the kind of process (`api`, `worker`, `tsa`).
 */
export function createLogger(options: { level: string; process: string }): Logger {
  return pino({
    level: options.level,
    base: { process: options.process, pid: process.pid },
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label) => ({ level: label }) },
    redact: { paths: redactedMembers.flatMap((name) => [name, `*.${name}`]), censor: '[REDACTED]' },
  });
}
