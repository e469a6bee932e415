import type { Command } from './command.ts';
import { misuse } from './failure.ts';
import { type OptionValues, readCommandLine, wordsOf } from './options.ts';
import { didYouMean } from './suggest.ts';

/** The options that every command has, with their help. */
export const commonOptions = [
  ['json', 'one line of JSON for each result, on standard output'],
  ['quiet', 'print only failures and results that are not valid'],
  ['help', 'help on a command; "qstamp help" also shows environment and exit codes'],
  ['version', 'print the version of this command'],
] as const;

const surroundings = `Environment
  QSTAMP_URL             address of the service (default http://127.0.0.1:8080)
  QSTAMP_SERVICE_TOKEN   stamps belong to the product of this token (default: you stamp as an agent)
  XDG_CONFIG_HOME        trust anchors are saved in its folder qstamp/anchors (default ~/.config)

Exit codes (for several results: the smallest that is not 0)
  0  done; every verified subject is valid
  1  a verified subject is not valid, or not proved
  2  the command line cannot be understood, or a subject has an algorithm that is not known
  3  the service refused the request
  4  the service cannot be reached, or could not do it now
  5  a local file cannot be read or written, or would be overwritten
`;

/** The commands for operators, with their options: listed here so that operators find them, but `bin/qstamp.mjs` runs them. */
export const operatorCommands = [
  ['qstamp check-providers', 'ask each configured provider once, and show how it answers', ['json', 'quiet', 'help']],
  ['qstamp check-settings [PORT]', 'show in one line why the service cannot start', ['quiet', 'help']],
  ['qstamp jobs failed|retry|drop [ID...]', 'jobs that the service has given up', ['all', 'json', 'quiet', 'help']],
  ['qstamp mails blocked|allow ADDRESS', 'the recipients who have stopped the mails', ['quiet', 'help']],
  ['qstamp recount FROM TO', 'count the stamps of some hours again', ['quiet', 'help']],
  ['qstamp refresh-lists', 'fetch and check the trusted lists now', ['json', 'quiet', 'help']],
  ['qstamp renew', 'renew the evidence that is due', ['quiet', 'help']],
  ['qstamp rotate-master-key', 'encrypt the keys in the database with another master key', ['quiet', 'help']],
] as const;

const mostColumns = 100;

/** Breaks a text into lines of at most `width` characters, between words. */
function wrap(text: string, width: number): string[] {
  const lines = [''];
  for (const word of text.split(' ')) {
    const longer = `${lines.at(-1)} ${word}`.trimStart();
    if (longer.length <= width) lines[lines.length - 1] = longer;
    else lines.push(word);
  }
  return lines;
}

const columns = (rows: readonly (readonly [string, string])[]): string => {
  const width = Math.max(...rows.map(([left]) => left.length));
  const lines = rows.flatMap(([left, right]) =>
    wrap(right, mostColumns - width - 4).map((line, index) => `  ${(index === 0 ? left : '').padEnd(width)}  ${line}`.trimEnd()),
  );
  return lines.join('\n');
};

/** Wraps the lines that are too long; the others keep their blanks. */
const paragraphs = (text: string): string =>
  text
    .split('\n')
    .flatMap((line) => (line.length > mostColumns ? wrap(line, mostColumns) : line))
    .join('\n');

const commonHelp = (): string => columns(commonOptions.map(([name, help]) => [`--${name}`.padEnd(14), help]));

const usageOf = ({ name, operands }: Command): string => `qstamp ${name} ${operands}`.trimEnd();

/** Help on a command, on a group of commands like `workflow`, or on all commands if `name` is undefined. */
export function helpOf(name: string | undefined, commands: readonly Command[]): string {
  const command = commands.find((one) => one.name === name);
  if (command !== undefined) return commandHelp(command);
  const listed = name === undefined ? commands : commands.filter((one) => one.name.startsWith(`${name} `));
  const rows = listed.map((one) => [usageOf(one), one.summary] as const);
  if (name !== undefined) return `${columns(rows)}\n\n${commonHelp()}\n`;
  const ofOperators = columns(operatorCommands.map(([usage, summary]) => [usage, summary]));
  const parts = ['qstamp: trusted time-stamps for files', columns(rows), `For operators of the service\n${ofOperators}`, commonHelp()];
  return `${parts.join('\n\n')}\n\n${surroundings}`;
}

function commandHelp(command: Command): string {
  const rows = Object.entries(command.options).map(([option, [value, help]]) => [`--${option} ${value}`.trimEnd(), help] as const);
  return [
    paragraphs(`${usageOf(command)}: ${command.summary}`),
    ...(command.details === undefined ? [] : [paragraphs(command.details)]),
    ...(rows.length === 0 ? [] : [columns(rows)]),
    `${commonHelp()}\n`,
  ].join('\n\n');
}

export type Invocation =
  | { readonly what: 'version'; readonly values: OptionValues }
  /** `name` is a command or a group; undefined means the overview. */
  | { readonly what: 'help'; readonly name: string | undefined }
  | { readonly what: 'run'; readonly command: Command; readonly operands: readonly string[]; readonly values: OptionValues };

/** Parses a command line. @throws CommandFailure `usage`, with one sentence */
export function parseCommandLine(args: readonly string[], commands: readonly Command[]): Invocation {
  const { values, positionals } = readCommandLine(args);
  if (positionals[0] === 'help') return helpOn(positionals.slice(1), commands);
  if (values.help) return helpOn(positionals, commands);
  if (values.version) return { what: 'version', values };
  if (args.length === 0) return { what: 'help', name: undefined };
  const command = findCommand(positionals, commands);
  if (command === undefined) throw notACommand(positionals, commands);
  const stranger = Object.keys(values).find((name) => !commonOptions.some(([common]) => common === name) && !(name in command.options));
  if (stranger !== undefined) throw misuse(`"${command.name}" takes no --${stranger}`);
  const operands = positionals.slice(command.name.split(' ').length);
  if (command.operands === '' && operands[0] !== undefined) throw misuse(`"${command.name}" takes no operand, got "${operands[0]}"`);
  return { what: 'run', command, operands, values };
}

/** The command that explains what is wrong with a command line: the help of its command or group, if it names one. */
export function helpFor(args: readonly string[], commands: readonly Command[]): string {
  const words = wordsOf(args);
  const [first = ''] = words;
  const name = findCommand(words, commands)?.name ?? (groupsOf(commands).includes(first) ? first : undefined);
  return name === undefined ? 'qstamp --help' : `qstamp ${name} --help`;
}

const findCommand = (words: readonly string[], commands: readonly Command[]): Command | undefined =>
  commands.find(({ name }) => name.split(' ').every((word, index) => words[index] === word));

/** The first words of the commands that have two words, for example `workflow`. */
const groupsOf = (commands: readonly Command[]): readonly string[] => [
  ...new Set(commands.flatMap(({ name }) => (name.includes(' ') ? name.split(' ').slice(0, 1) : []))),
];

function helpOn(words: readonly string[], commands: readonly Command[]): Invocation {
  const [first] = words;
  // `qstamp help help` shows the overview.
  if (first === undefined || first === 'help') return { what: 'help', name: undefined };
  const command = findCommand(words, commands);
  if (command !== undefined) return { what: 'help', name: command.name };
  if (words.length === 1 && groupsOf(commands).includes(first)) return { what: 'help', name: first };
  throw notACommand(words, commands);
}

function notACommand([first, second]: readonly string[], commands: readonly Command[]) {
  if (first === undefined) return misuse('no command is given');
  const isGroup = groupsOf(commands).includes(first);
  if (isGroup && second === undefined) {
    const names = commands.flatMap(({ name }) => (name.startsWith(`${first} `) ? [name.slice(first.length + 1)] : []));
    return misuse(`"${first}" needs one of ${names.join(', ')}`);
  }
  const given = isGroup ? `${first} ${second}` : first;
  const ofOperators = operatorCommands.map(([usage]) => usage.split(' ')[1]!);
  // Without such an option, `bin/qstamp.mjs` would have run it.
  if (ofOperators.includes(given)) return misuse(`write the options of "${given}" after it`);
  const names = [...commands.map(({ name }) => name), ...ofOperators];
  return misuse(`there is no command "${given}"${didYouMean(given, isGroup ? names : [...names, ...groupsOf(commands), 'help'])}`);
}
