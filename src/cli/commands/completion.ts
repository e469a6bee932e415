import type { Command } from '../command.ts';
import { commonOptions, operatorCommands } from '../command-line.ts';
import { exitCodes, misuse } from '../failure.ts';

/** What a shell offers after the name of a command, or after `qstamp` alone (then `name` is empty). */
interface Offer {
  readonly name: string;
  readonly summary: string;
  /** Words that may follow: the second word of a command, or an action. */
  readonly words: readonly string[];
  /** Without `--`, with the values of an option that takes one of a few words. Undefined: a switch. Empty: any value, for example a file. */
  readonly options: readonly { readonly name: string; readonly values: readonly string[] | undefined; readonly help: string }[];
}

/** `basic|plus|sealed` in the help of an option means one of these words; names in capitals stand for any value. */
function valuesOf(value: string): readonly string[] | undefined {
  if (value === '') return undefined;
  return /^[a-z]+(\|[a-z]+)+$/.test(value) ? value.split('|') : [];
}

function offersOf(commands: readonly Command[]): readonly Offer[] {
  const common = commonOptions.map(([name, help]) => ({ name, values: undefined, help }));
  const own = commands.map(({ name, summary, operands, options }) => ({
    name,
    summary,
    words: valuesOf(operands) ?? [],
    options: [...Object.entries(options).map(([option, [value, help]]) => ({ name: option, values: valuesOf(value), help })), ...common],
  }));
  const ofOperators = operatorCommands
    .filter(([usage]) => !own.some(({ name }) => name === usage.split(' ')[1]))
    .map(([usage, summary, taken]) => {
      const [, name = '', ...words] = usage.split(' ');
      const options = taken.map((option) => ({
        name: option,
        values: undefined,
        help: common.find((each) => each.name === option)?.help ?? 'all jobs',
      }));
      return { name, summary, words: words.flatMap((word) => valuesOf(word) ?? []), options };
    });
  const all = [...own, ...ofOperators];
  const firstWords = [...new Set(all.map(({ name }) => name.split(' ')[0]!))];
  const groups = firstWords
    .filter((word) => !all.some(({ name }) => name === word))
    .map((word) => ({
      name: word,
      summary: `commands: ${secondWordsOf(word, all).join(', ')}`,
      words: secondWordsOf(word, all),
      options: common,
    }));
  // "qstamp help" takes the same words as "qstamp" alone.
  return [{ name: '', summary: '', words: [...firstWords, 'help'], options: common }, ...groups, ...all];
}

const secondWordsOf = (group: string, offers: readonly { readonly name: string }[]): readonly string[] =>
  offers.flatMap(({ name }) => (name.startsWith(`${group} `) ? [name.slice(group.length + 1)] : []));

/** Options with a value, over all commands: an option has the same kind of value everywhere. */
const optionsWithValue = (offers: readonly Offer[]): readonly string[] => [
  ...new Set(offers.flatMap(({ options }) => options.flatMap(({ name, values }) => (values ? [`--${name}`] : [])))),
];

/**
 * The function that bash and zsh share. It reads the words before the cursor and sets `found`: the words to offer. If `found` is empty, the shell
 * offers files. Bash makes a word of the `=` in `--tier=basic`.
 */
function functionOf(offers: readonly Offer[]): string {
  const ofCommand = offers.map(
    ({ name, words, options }) =>
      `    '${name}'${name === '' ? '|help' : ''}) words='${words.join(' ')}'; options='${options.map((option) => `--${option.name}`).join(' ')}' ;;`,
  );
  const ofValue = offers.flatMap(({ name, options }) =>
    options.flatMap((option) =>
      option.values?.length ? [`    '${name} --${option.name}') found='${option.values.join(' ')}'; return ;;`] : [],
    ),
  );
  return `_qstamp_find() {
  local command='' words='' options='' previous='' word
  found=''
  for word in "$@"; do
    case "$word" in =) continue ;; esac
    case "$previous" in ${optionsWithValue(offers).join('|')}) previous=''; continue ;; esac
    previous="$word"
    case "$word" in -*) continue ;; esac
    case "$command" in
      ''|help) command="$word" ;;
      ${groupsPattern(offers)}) command="$command $word" ;;
    esac
  done
  case "$command $previous" in
${ofValue.join('\n')}
  esac
  case "$previous" in ${optionsWithValue(offers).join('|')}) return ;; esac
  case "$command" in
${ofCommand.join('\n')}
  esac
  case "$current" in -*) found="$options" ;; *) found="$words" ;; esac
}
`;
}

const groupsPattern = (offers: readonly Offer[]): string =>
  offers.flatMap(({ name }) => (secondWordsOf(name, offers).length > 0 && name !== '' ? [`'${name}'`] : [])).join('|');

const bashScript = (offers: readonly Offer[]): string => `# Completion of qstamp for bash: source <(qstamp completion bash)
${functionOf(offers)}
_qstamp() {
  local current="\${COMP_WORDS[COMP_CWORD]#=}" found
  _qstamp_find "\${COMP_WORDS[@]:1:COMP_CWORD-1}"
  COMPREPLY=($(compgen -W "$found" -- "$current"))
}
# Without a word to offer, "default" lets bash offer files.
complete -o default -F _qstamp qstamp
`;

const zshScript = (offers: readonly Offer[]): string => `#compdef qstamp
# Completion of qstamp for zsh: source <(qstamp completion zsh), or save it as _qstamp in a folder of $fpath
${functionOf(offers)}
_qstamp() {
  local current="\${words[CURRENT]}" found
  _qstamp_find "\${(@)words[2,CURRENT-1]}"
  if [[ -n $found ]]; then compadd -- \${=found}; else _files; fi
}
if [[ $funcstack[1] = _qstamp ]]; then _qstamp "$@"; else compdef _qstamp qstamp; fi
`;

/** Fish has its own conditions and shows the help of each word. It offers files by itself. */
function fishScript(offers: readonly Offer[]): string {
  const lines = offers.flatMap(({ name, words, options }) => {
    const condition = name
      .split(' ')
      .filter(Boolean)
      .map((word) => `__fish_seen_subcommand_from ${word}`);
    const before = name === '' ? '__fish_use_subcommand' : condition.join('; and ');
    const isOpen = words.length === 0 || name === '' ? '' : `; and not __fish_seen_subcommand_from ${words.join(' ')}`;
    return [
      ...words.map((word) => {
        const summary = offers.find((each) => each.name === `${name} ${word}`.trim())?.summary ?? '';
        return `complete -c qstamp -f -n ${fishQuoted(`${before}${isOpen}`)} -a ${word} -d ${fishQuoted(summary)}`;
      }),
      ...options.map(({ name: option, values, help }) => {
        const value = values === undefined ? '' : values.length === 0 ? ' -r' : ` -x -a ${fishQuoted(values.join(' '))}`;
        return `complete -c qstamp -n ${fishQuoted(before)} -l ${option}${value} -d ${fishQuoted(help)}`;
      }),
    ];
  });
  return `# Completion of qstamp for fish: qstamp completion fish | source\n${lines.join('\n')}\n`;
}

const fishQuoted = (text: string): string => `'${text.replace(/[\\']/g, '\\$&')}'`;

const scripts = { bash: bashScript, zsh: zshScript, fish: fishScript };
const isShell = (name: string): name is keyof typeof scripts => Object.hasOwn(scripts, name);

/** @param commands all commands, this one among them. The help is made from the same table */
export const completionOf = (commands: () => readonly Command[]): Command => ({
  name: 'completion',
  operands: 'bash|zsh|fish',
  summary: 'print a script for a shell that completes commands, options and files',
  details:
    'bash  source <(qstamp completion bash)     in ~/.bashrc\n' +
    'zsh   source <(qstamp completion zsh)      in ~/.zshrc, after compinit\n' +
    'fish  qstamp completion fish | source      in ~/.config/fish/config.fish',
  options: {},
  run: async ([shell = '', ...others], _values, { terminal }) => {
    if (!isShell(shell) || others.length > 0) throw misuse('name one shell: bash, zsh or fish');
    terminal.text(scripts[shell](offersOf(commands())));
    return exitCodes.ok;
  },
});
