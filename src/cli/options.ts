import { parseArgs } from 'node:util';
import { misuse } from './failure.ts';
import { didYouMean } from './suggest.ts';

const text = { type: 'string' } as const;
const flag = { type: 'boolean' } as const;
const repeated = { type: 'string', multiple: true } as const;

/** The options of all commands. An option has the same kind of value in every command, so options may also come before the command. */
const optionTypes = {
  agent: text,
  briefing: text,
  'briefing-hash': text,
  ca: repeated,
  crl: repeated,
  email: text,
  force: flag,
  metadata: repeated,
  online: flag,
  out: text,
  proof: text,
  'show-name': flag,
  tier: text,
  title: text,
  token: text,
  type: text,
  workflow: text,
  yes: flag,
  intermediate: repeated,
  'list-signers': repeated,
  'signers-of': text,
  'trusted-list': repeated,
  json: flag,
  quiet: flag,
  help: { type: 'boolean', short: 'h' },
  version: flag,
} as const;

/** Splits a command line into options and operands. @throws CommandFailure `usage`, with one sentence */
export function readCommandLine(args: readonly string[]) {
  try {
    return parseArgs({ args: [...args], options: optionTypes, allowPositionals: true, strict: true });
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    const [sentence = error.message] = error.message.split('. To specify');
    const unknown = /^Unknown option '--([^']+)'/.exec(sentence)?.[1];
    throw misuse(`${sentence}${didYouMean(unknown, Object.keys(optionTypes), '--')}`);
  }
}

/** The words of a command line that are neither options nor their values, also if the command line is wrong. */
export const wordsOf = (args: readonly string[]): readonly string[] =>
  parseArgs({ args: [...args], options: optionTypes, allowPositionals: true, strict: false }).positionals;

export type OptionName = keyof typeof optionTypes;
export type OptionValues = ReturnType<typeof readCommandLine>['values'];

/** Checks an option that takes one of `values`. @throws CommandFailure `usage` */
export function oneOf<Value extends string>(option: string, values: readonly Value[], given: string | undefined, fallback: Value): Value {
  const found = given === undefined ? fallback : values.find((value) => value === given);
  if (found === undefined) throw misuse(`${option} takes ${values.join(', ')}`);
  return found;
}

/** The pairs of `--metadata`; undefined if the option is not given. @throws CommandFailure `usage` */
export function metadataOf({ metadata }: OptionValues): Readonly<Record<string, string>> | undefined {
  return (
    metadata &&
    Object.fromEntries(
      metadata.map((pair) => {
        const end = pair.indexOf('=');
        if (end < 1) throw misuse('--metadata takes NAME=VALUE');
        return [pair.slice(0, end), pair.slice(end + 1)];
      }),
    )
  );
}
