import { type ParseArgsOptionsConfig, parseArgs } from 'node:util';
import { type StampTier, stampTiers, type WorkflowTier, workflowTiers } from '../shared/domain/tiers.ts';
import { CommandFailure, exitCodes } from './failure.ts';
import type { StampCommand } from './stamp.ts';
import type { AddCommand, StartCommand } from './workflow.ts';

/** What a command line asks for. */
export type Command =
  | { readonly name: 'help' }
  | { readonly name: 'version' }
  | ({ readonly name: 'stamp' } & StampCommand)
  | { readonly name: 'verify'; readonly subjects: readonly string[] }
  | ({ readonly name: 'workflow start' } & StartCommand)
  | ({ readonly name: 'workflow add' } & AddCommand)
  | { readonly name: 'workflow complete'; readonly workflow: string };

export interface CommandLine {
  readonly command: Command;
  readonly json: boolean;
}

const everywhere = { json: { type: 'boolean' }, help: { type: 'boolean', short: 'h' }, version: { type: 'boolean' } } as const;
const text = { type: 'string' } as const;
const flag = { type: 'boolean' } as const;
const repeated = { type: 'string', multiple: true } as const;

const refuse = (sentence: string) => new CommandFailure(exitCodes.usage, `${sentence} (see qstamp --help)`);

/** @throws CommandFailure `usage` in one sentence. */
export function parseCommandLine(args: readonly string[]): CommandLine {
  const isWorkflow = args[0] === 'workflow';
  const name = args.slice(0, isWorkflow ? 2 : 1).join(' ');
  const rest = args.slice(isWorkflow ? 2 : 1);
  const read = readers.get(name);
  if (read) return read(rest);
  const { values, positionals } = parse(args, {});
  if (values.help || (args.length === 0 && !values.version)) return { command: { name: 'help' }, json: false };
  if (values.version) return { command: { name: 'version' }, json: false };
  throw refuse(positionals.length === 0 ? 'no command is given' : `there is no command "${positionals.slice(0, 2).join(' ')}"`);
}

function parse<const Options extends ParseArgsOptionsConfig>(args: readonly string[], options: Options) {
  try {
    return parseArgs({ args: [...args], options: { ...options, ...everywhere }, allowPositionals: true, strict: true });
  } catch (error) {
    if (error instanceof TypeError) throw refuse(error.message.split('. To specify')[0] ?? error.message);
    throw error;
  }
}

/** A reader of one command's arguments, with the options that every command has. */
function reader<const Options extends ParseArgsOptionsConfig>(
  options: Options,
  build: (values: ReturnType<typeof parse<Options>>['values'], positionals: readonly string[]) => Command,
): (args: readonly string[]) => CommandLine {
  return (args) => {
    const { values, positionals } = parse(args, options);
    const json = 'json' in values && values.json === true;
    if ('help' in values && values.help) return { command: { name: 'help' }, json };
    return { command: build(values, positionals), json };
  };
}

const readers: ReadonlyMap<string, (args: readonly string[]) => CommandLine> = new Map([
  [
    'stamp',
    reader({ tier: text, metadata: repeated, force: flag }, (values, files) => ({
      name: 'stamp',
      files: some(files, 'name at least one file to stamp'),
      tier: oneOf<StampTier>('--tier', stampTiers, values.tier, 'basic'),
      metadata: pairs(values.metadata),
      force: values.force ?? false,
    })),
  ],
  ['verify', reader({}, (_values, subjects) => ({ name: 'verify', subjects: some(subjects, 'name at least one file, id or token') }))],
  [
    'workflow start',
    reader(
      { email: text, agent: text, briefing: text, 'briefing-hash': text, tier: text, metadata: repeated, workflow: text },
      (values, positionals) => {
        none(positionals);
        const { email, agent, briefing: file, 'briefing-hash': sha256 } = values;
        if (email === undefined || agent === undefined) throw refuse('--email and --agent are needed');
        if ((file === undefined) === (sha256 === undefined)) throw refuse('exactly one of --briefing and --briefing-hash is needed');
        return {
          name: 'workflow start',
          email,
          agent,
          briefing: file === undefined ? { sha256: sha256 ?? '' } : { file },
          metadata: pairs(values.metadata),
          tier: oneOf<WorkflowTier>('--tier', workflowTiers, values.tier, 'standard'),
          workflow: values.workflow ?? defaultWorkflow,
        };
      },
    ),
  ],
  [
    'workflow add',
    reader({ type: text, metadata: repeated, workflow: text, force: flag }, (values, files) => ({
      name: 'workflow add',
      files: some(files, 'name at least one file to add'),
      type: values.type,
      metadata: pairs(values.metadata),
      workflow: values.workflow ?? defaultWorkflow,
      force: values.force ?? false,
    })),
  ],
  [
    'workflow complete',
    reader({ workflow: text }, (values, positionals) => {
      none(positionals);
      return { name: 'workflow complete', workflow: values.workflow ?? defaultWorkflow };
    }),
  ],
]);

const defaultWorkflow = 'qstamp-workflow.json';

function some(values: readonly string[], sentence: string): readonly string[] {
  if (values.length === 0) throw refuse(sentence);
  return values;
}

function none([first]: readonly string[]): void {
  if (first !== undefined) throw refuse(`"${first}" is not understood here`);
}

function oneOf<Value extends string>(option: string, values: readonly Value[], given: string | undefined, fallback: Value): Value {
  const found = given === undefined ? fallback : values.find((value) => value === given);
  if (found === undefined) throw refuse(`${option} takes ${values.join(', ')}`);
  return found;
}

function pairs(given: readonly string[] | undefined): Readonly<Record<string, string>> | undefined {
  return (
    given &&
    Object.fromEntries(
      given.map((pair) => {
        const end = pair.indexOf('=');
        if (end < 1) throw refuse('--metadata takes NAME=VALUE');
        return [pair.slice(0, end), pair.slice(end + 1)];
      }),
    )
  );
}
