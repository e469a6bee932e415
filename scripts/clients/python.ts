import type { JsonSchema } from '../../src/api/docs/examples.ts';
import type { ClientContract } from './contract.ts';
import { membersOf, type TypeWords, typeOf } from './json-type.ts';

const quoted = (value: unknown): string => `"${String(value)}"`;

const words: TypeWords = {
  primitives: { string: 'str', integer: 'int', number: 'float', boolean: 'bool', null: 'None', unknown: 'Any' },
  list: (of) => `list[${of}]`,
  map: (of) => `dict[str, ${of}]`,
  oneOf: (values) => `Literal[${values.map(quoted).join(', ')}]`,
  object: () => 'dict[str, Any]',
};

/** `isPart`: another answer has it. Only a whole answer has the HTTP response that it came in. */
function declarationOf(name: string, schema: JsonSchema, isPart: boolean): string {
  if (schema.properties === undefined) return `${name} = ${typeOf(schema, words)}\n`;
  const members = membersOf(schema);
  const lines = members.flatMap(({ name: member, schema: of, isRequired, description }) => {
    const type = typeOf(of, words);
    const optional = /\b(None|Any)\b$/.test(type) ? type : `${type} | None`;
    // A secret must not get into logs.
    const required = member === 'workflow_token' ? `${type} = field(repr=False)` : type;
    return [
      `    ${member}: ${isRequired ? required : `${optional} = None`}`,
      ...(description === undefined ? [] : [`    """${description}"""`]),
    ];
  });
  // A result that is not valid must not pass an `if`.
  if (members.some(({ name: member }) => member === 'valid'))
    lines.push('', '    def __bool__(self) -> bool:', '        return self.valid');
  return `\n@dataclass(frozen=True, kw_only=True)\nclass ${name}${isPart ? '' : '(Answer)'}:\n${lines.join('\n')}\n`;
}

/** The answers of the contract as Python dataclasses, with members in the order and with the names of the API. */
export function pythonContract({ answers, errorCodes, reasonCodes }: ClientContract): string {
  const literal = (codes: readonly string[]) => `Literal[\n${codes.map((code) => `    ${quoted(code)},`).join('\n')}\n]`;
  const inside = JSON.stringify([...answers.values()]);
  // Types that are declared with `=` come first, because Python evaluates these definitions at once.
  const declared = [...answers].sort(([, a], [, b]) => Number('properties' in a) - Number('properties' in b));
  return [
    '"""Made by `npm run clients` of the contract of the service. Do not edit it."""\n',
    'from __future__ import annotations\n',
    'from dataclasses import dataclass, field\nfrom typing import Any, Literal\n',
    'from .answer import Answer\n',
    ...declared.map(([name, schema]) => declarationOf(name, schema, inside.includes(`/${name}"`))),
    `\nErrorCode = ${literal(errorCodes)}\n"""Codes of errors (docs/agents/api.md)."""\n`,
    `ReasonCode = ${literal(reasonCodes)}\n"""Codes at the start of a \`reason\` (docs/reference/reasons.md)."""\n`,
  ].join('\n');
}
