import type { JsonObject } from './requests.ts';
import type { Part } from './service.ts';

/** The log of a process, line by line. */
export const logLines = (part: Pick<Part, 'output'>): JsonObject[] =>
  part
    .output()
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line) as JsonObject);

/** A summary of the failures in its log. */
export const failuresIn = (part: Pick<Part, 'output'>): unknown[][] =>
  logLines(part)
    .filter(({ level, outcome }) => outcome === 'failed' || !['trace', 'debug', 'info'].includes(String(level)))
    .filter(({ outcome }) => outcome !== 'advice')
    .map(({ level, outcome, code, msg }) => [level, outcome, code, msg]);
