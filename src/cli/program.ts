import { Argument, Command } from '@commander-js/extra-typings';
import { version } from '../shared/contract/version.ts';
import type { Context, Program } from './command.ts';
import { addCompletionCommand } from './commands/completion.ts';
import { addListsCommand } from './commands/lists.ts';
import { addPackCommand } from './commands/pack.ts';
import { addRenewCommand } from './commands/renew.ts';
import { addStampCommand } from './commands/stamp.ts';
import { addTrustCommands } from './commands/trust.ts';
import { addVerifyCommand } from './commands/verify.ts';
import { addWorkflowCommands } from './commands/workflow.ts';
import { misuse } from './failure.ts';

const surroundings = `
Environment:
  QSTAMP_URL             address of the service (default http://127.0.0.1:8080)
  QSTAMP_SERVICE_TOKEN   stamps belong to the product of this token (default: you stamp as an agent)
  XDG_CONFIG_HOME        trust anchors are saved in its folder qstamp/anchors (default ~/.config)

Exit codes (for several results: the smallest that is not 0):
  0  done; every verified subject is valid
  1  a verified subject is not valid, or not proved
  2  the command line cannot be understood, or a subject has an algorithm that is not known
  3  the service refused the request
  4  the service cannot be reached, or could not do it now
  5  a local file cannot be read or written, or would be overwritten`;

/** The definition of the whole command line. Commander throws its errors and exits as `CommanderError`, and the caller prints them. */
export function createProgram(context: Context): Program {
  const { terminal } = context;
  const versionText = terminal.json ? JSON.stringify({ version }) : version;
  const program = new Command('qstamp')
    .description('trusted time-stamps for files')
    .exitOverride()
    .configureOutput({ writeOut: (text) => terminal.text(text), writeErr: () => undefined })
    .configureHelp({
      showGlobalOptions: true,
      subcommandTerm: (command) => command.name(),
      subcommandDescription: (command) => command.description().split('\n')[0]!,
    })
    .helpCommand('help [command]', 'help on a command; "qstamp help" also shows environment and exit codes')
    .option('--json', 'one line of JSON for each result, on standard output')
    .option('--quiet', 'print only failures and results that are not valid')
    .version(versionText, '--version', 'print the version of this command')
    .addHelpText('after', surroundings);
  addStampCommand(program, context);
  addVerifyCommand(program, context);
  addPackCommand(program, context);
  addRenewCommand(program, context);
  addTrustCommands(program, context);
  addListsCommand(program, context);
  addWorkflowCommands(program, context);
  addCompletionCommand(program, context);
  program
    .command('version')
    .description('print the version of this command, like --version')
    .action(() => terminal.text(`${versionText}\n`));
  addOperatorCommands(program);
  return program;
}

/** `bin/qstamp.mjs` runs these commands. They are listed here so that operators find them. */
function addOperatorCommands(program: Program): void {
  const add = (name: string, description: string) =>
    program
      .command(name)
      .description(description)
      .helpGroup('For operators of the service:')
      .action(() => {
        throw misuse(`"${name}" must be the first word`);
      });
  const oneOf = (...actions: string[]) => new Argument('<action>').choices(actions);
  add('check-providers', 'ask each configured provider once, and show how it answers');
  add('check-settings', 'show in one line why the service cannot start').argument('[PORT]');
  add('jobs', 'jobs that the service has given up')
    .addArgument(oneOf('failed', 'retry', 'drop'))
    .argument('[ID...]');
  add('mails', 'the recipients who have stopped the mails').addArgument(oneOf('blocked', 'allow')).argument('[ADDRESS]');
  add('recount', 'count the stamps of some hours again').argument('<FROM>').argument('<TO>');
  add('refresh-lists', 'fetch and check the trusted lists now');
  add('rotate-master-key', 'encrypt the keys in the database with another master key');
}
