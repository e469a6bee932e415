import type { JsonSchema } from '../../src/api/docs/examples.ts';
import type { ClientContract } from './contract.ts';
import { membersOf, type TypeWords, typeOf } from './json-type.ts';

const quoted = (value: unknown): string => `'${String(value)}'`;

const words: TypeWords = {
  primitives: { string: 'string', integer: 'number', number: 'number', boolean: 'boolean', null: 'null', unknown: 'unknown' },
  list: (of) => `readonly ${of.includes(' ') ? `(${of})` : of}[]`,
  map: (of) => `Readonly<Record<string, ${of}>>`,
  oneOf: (values) => values.map(quoted).join(' | '),
  object: (schema) => `{ ${membersOf(schema).map(memberLine).join(' ')} }`,
};

type Member = ReturnType<typeof membersOf>[number];
const memberLine = ({ name, schema, isRequired }: Member): string => `readonly ${name}${isRequired ? '' : '?'}: ${typeOf(schema, words)};`;

function declarationOf(name: string, schema: JsonSchema): string {
  if (schema.properties === undefined) return `export type ${name} = ${typeOf(schema, words)};\n`;
  const lines = membersOf(schema).flatMap((member) => [
    ...(member.description === undefined ? [] : [`  /** ${member.description} */`]),
    `  ${memberLine(member)}`,
  ]);
  return `export interface ${name} {\n${lines.join('\n')}\n}\n`;
}

/** The contract as TypeScript types. The formatter formats the file afterwards. */
export function typescriptContract({ requests, answers, errorCodes, reasonCodes }: ClientContract): string {
  const union = (codes: readonly string[]) => codes.map((code) => `  | ${quoted(code)}`).join('\n');
  return [
    '// Made by `npm run clients` of the contract of the service. Do not edit it.\n',
    ...[...new Map([...requests, ...answers])].map(([name, schema]) => declarationOf(name, schema)),
    `/** Codes of errors (docs/agents/api.md). */\nexport type ErrorCode =\n${union(errorCodes)};\n`,
    `/** Codes at the start of a \`reason\` (docs/reference/reasons.md). */\nexport type ReasonCode =\n${union(reasonCodes)};\n`,
  ].join('\n');
}
