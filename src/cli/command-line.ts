import type { Command } from './command.ts';
import { misuse } from './failure.ts';
import { type OptionValues, readCommandLine } from './options.ts';
import { didYouMean } from './suggest.ts';

/** Options that every command has. */
const everywhere: readonly string[] = ['json', 'help', 'version'];

export type Asked =
  | { readonly what: 'version' }
  /** `name` of a command or of a group of them; undefined: the overview. */
  | { readonly what: 'help'; readonly name: string | undefined }
  | { readonly what: 'run'; readonly command: Command; readonly operands: readonly string[]; readonly values: OptionValues };

/** What a command line asks for. @throws CommandFailure `usage` in one sentence. */
export function parseCommandLine(args: readonly string[], commands: readonly Command[]): Asked {
  const { values, positionals } = readCommandLine(args);
  if (positionals[0] === 'help') return helpOn(positionals.slice(1), commands);
  if (values.help) return helpOn(positionals, commands);
  if (values.version) return { what: 'version' };
  if (args.length === 0) return { what: 'help', name: undefined };
  const command = findCommand(positionals, commands);
  if (command === undefined) throw notACommand(positionals, commands);
  const stranger = Object.keys(values).find((name) => !everywhere.includes(name) && !(name in command.options));
  if (stranger !== undefined) throw misuse(`"${command.name}" takes no --${stranger}`);
  const operands = positionals.slice(command.name.split(' ').length);
  if (command.operands === '' && operands[0] !== undefined) throw misuse(`"${operands[0]}" is not understood here`);
  return { what: 'run', command, operands, values };
}

const findCommand = (words: readonly string[], commands: readonly Command[]): Command | undefined =>
  commands.find(({ name }) => name.split(' ').every((word, index) => words[index] === word));

/** The first words of the commands that have two, e.g. `workflow`. */
const groupsOf = (commands: readonly Command[]): readonly string[] => [
  ...new Set(commands.flatMap(({ name }) => (name.includes(' ') ? name.split(' ').slice(0, 1) : []))),
];

function helpOn(words: readonly string[], commands: readonly Command[]): Asked {
  const [first] = words;
  if (first === undefined) return { what: 'help', name: undefined };
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
  const names = commands.map(({ name }) => name);
  return misuse(`there is no command "${given}"${didYouMean(given, isGroup ? names : [...names, ...groupsOf(commands), 'help'])}`);
}
