import { REASONS } from '../../src/shared/domain/reasons.ts';

/** The table of `docs/reference/reasons.md`, made from the table in the code. */
export const reasonsTable = (): string =>
  [
    '| code | sentence | refusal |',
    '|---|---|---|',
    ...Object.entries(REASONS).map(([code, { refusal, sentence }]) => `| \`${code}\` | ${sentence} | ${refusal ?? ''} |`),
    '',
  ].join('\n');
