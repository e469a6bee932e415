import { Argument, type Option } from '@commander-js/extra-typings';
import type { Context, Program } from '../command.ts';

export function addCompletionCommand(program: Program, { terminal }: Context): void {
  program
    .command('completion')
    .description(
      'print a script for a shell that completes commands, options and files\n\n' +
        'bash  source <(qstamp completion bash)     in ~/.bashrc\n' +
        'zsh   source <(qstamp completion zsh)      in ~/.zshrc, after compinit\n' +
        'fish  qstamp completion fish | source      in ~/.config/fish/config.fish',
    )
    .addArgument(new Argument('<SHELL>').choices(['bash', 'zsh', 'fish']))
    .action((shell) => {
      // Zsh runs the completions of bash.
      const start = shell === 'zsh' ? 'autoload -U +X bashcompinit && bashcompinit\n' : '';
      terminal.text(shell === 'fish' ? fishScript(program) : `${start}${bashScript(program)}`);
    });
}

interface Offer {
  /** The words of the command without `qstamp`; empty for `qstamp` alone. */
  readonly path: readonly string[];
  readonly words: readonly string[];
  readonly options: readonly Option[];
}

function offersOf(program: Program, path: readonly string[] = []): readonly Offer[] {
  const help = program.createHelp();
  const commands = program.commands.length > 0 ? help.visibleCommands(program).map((command) => command.name()) : [];
  const words = [...commands, ...program.registeredArguments.flatMap(({ argChoices = [] }) => argChoices)];
  const options = [...help.visibleOptions(program), ...help.visibleGlobalOptions(program)];
  return [{ path, words, options }, ...program.commands.flatMap((command) => offersOf(command, [...path, command.name()]))];
}

/** Finds the command among the words before the cursor. Without a word to offer, `default` lets the shell offer files. */
function bashScript(program: Program): string {
  const offers = offersOf(program).map(({ path, ...offer }) => ({ ...offer, name: `'${path.join(' ')}'` }));
  const found = offers.map(
    ({ name, words, options }) => `    ${name}) found='${words.join(' ')}' options='${options.map(({ long }) => long).join(' ')}' ;;`,
  );
  const values = offers.flatMap(({ name, options }) =>
    options.flatMap(({ long, argChoices }) => (argChoices ? [`    ${name}' ${long}') found='${argChoices.join(' ')}' ;;`] : [])),
  );
  return `_qstamp() {
  local command='' word previous='' current="\${COMP_WORDS[COMP_CWORD]}" found='' options=''
  for word in "\${COMP_WORDS[@]:1:$((COMP_CWORD - 1))}"; do
    previous="$word"
    case "\${command:+$command }$word" in ${offers.map(({ name }) => name).join('|')}) command="\${command:+$command }$word" ;; esac
  done
  case "$command" in
${found.join('\n')}
  esac
  case "$command $previous" in
${values.join('\n')}
  esac
  case "$current" in -*) found="$options" ;; esac
  COMPREPLY=($(compgen -W "$found" -- "$current"))
}
complete -o default -F _qstamp qstamp
`;
}

function fishScript(program: Program): string {
  const quoted = (text: string) => `'${text.replace(/[\\']/g, '\\$&')}'`;
  const lines = offersOf(program).flatMap(({ path, words, options }) => {
    const when = path.map((word) => `__fish_seen_subcommand_from ${word}`).join('; and ') || '__fish_use_subcommand';
    const isOpen = words.length > 0 ? `${when}; and not __fish_seen_subcommand_from ${words.join(' ')}` : '';
    const ofOptions = options.map(({ long = '', required, argChoices, description }) => {
      const value = argChoices ? ` -x -a ${quoted(argChoices.join(' '))}` : required ? ' -r' : '';
      return `complete -c qstamp -n ${quoted(when)} -l ${long.slice(2)}${value} -d ${quoted(description)}`;
    });
    return words.length > 0 ? [`complete -c qstamp -f -n ${quoted(isOpen)} -a ${quoted(words.join(' '))}`, ...ofOptions] : ofOptions;
  });
  return `${lines.join('\n')}\n`;
}
