import { Argument, type CommandUnknownOpts } from '@commander-js/extra-typings';
import { ServiceError, TransientError } from '../shared/domain/service-error.ts';
import { ConfigError, type Environment } from '../shared/runtime/config.ts';
import type { Operator, OperatorExitCode } from './operator.ts';

/** What the process gives to the commands. The settings are read only when a command runs. */
interface Surroundings extends Pick<Operator, 'stderr'> {
  readonly args: readonly string[];
  readonly environment: () => Environment;
  readonly stdout: { write(text: string): unknown };
}

/**
 * The commands for operators. The result adds them to `qstamp`, and returns what `qstamp renew` without a file does. Each command loads its own code,
 * so that the other commands start fast.
 */
export const operatorCommands =
  (surroundings: Surroundings) =>
  (program: CommandUnknownOpts, end: (code: OperatorExitCode) => void): (() => Promise<void>) => {
    const line = { program, end, ...surroundings };
    addCommands(line);
    return () => run(line, 'text', async (operator) => (await import('./renew.ts')).renew(operator));
  };

/** The command line. `end` takes the exit code of a command that has ended. */
interface OperatorLine extends Surroundings {
  readonly program: CommandUnknownOpts;
  readonly end: (code: OperatorExitCode) => void;
}

function addCommands(line: OperatorLine): void {
  const add = (name: string, description: string) =>
    line.program.command(name).description(description).helpGroup('For operators of the service:');
  const refuse = (sentence: string): never => line.program.error(sentence);

  add(
    'check-providers',
    'ask each configured provider once, and show how it answers\n\n' +
      'It asks for one stamp and does not store it. The settings are those of the service: TSP, TSP_PROVIDERS_FILE, and REDIS_URL if a ' +
      'provider has a `rate`: the workers count its requests in Redis, and this request counts too. If no request is left, the provider ' +
      'is not asked. If the service uses trusted lists, those in force are read from MONGODB_URL: where a list knows a provider, it ' +
      'decides whether its stamps are qualified. Exit codes: 0 no provider fails, 1 one fails, 2 usage or settings.',
  ).action(() => run(line, 'json', async (operator) => (await import('./check-providers.ts')).checkProviders(operator)));

  add(
    'check-settings',
    'show in one line why the service cannot start\n\n' +
      'With PORT, it also checks that nothing but this service listens there. Nothing is started. Exit codes: 0 nothing to fix, 2 the ' +
      'line names the fault: a wrong setting, a missing file, a port in use.',
  )
    .argument('[PORT]')
    .action((port) => {
      if (!/^\d*$/.test(port ?? '')) refuse('check-settings takes at most one port');
      return run(line, 'text', async (operator) => (await import('./check-settings.ts')).checkSettings(operator, Number(port ?? 0)));
    });

  add(
    'jobs',
    'jobs that the service has given up\n\n' +
      '"failed" lists them, oldest first. "retry" puts them back into their queue. "drop" removes them for good; their verify_url still ' +
      'says stamp_failed. The service gives up a job if it fails five times for its own reason, or if its worker is lost ten times. The ' +
      'job stays until it is retried or dropped. Settings: REDIS_URL, MONGODB_URL. Exit codes: 0 done, 1 no such job, or a server does ' +
      'not answer, 2 usage or settings.',
  )
    .addArgument(new Argument('<action>').choices(['failed', 'retry', 'drop']))
    .argument('[ID...]')
    .option('--all', 'retry or drop all of them')
    .action((action, ids, { all = false }) => {
      if (action === 'failed' ? all || ids.length > 0 : all === ids.length > 0)
        refuse('retry and drop take ids of jobs, or --all; failed takes none');
      return run(line, 'json', async (operator) => (await import('./jobs.ts')).jobs(operator, action, all ? 'all' : ids));
    });

  add(
    'mails',
    'the recipients who have stopped the mails\n\n' +
      '"blocked" says whether the owner of this address has stopped the mails. "allow" lets mails go to it again, at the request of its ' +
      'owner. The service stores no address, only a keyed hash. The settings are those of the service. Exit codes: 0 done, 1 the address ' +
      'is not blocked, or the store does not answer, 2 usage or settings.',
  )
    .addArgument(new Argument('<action>').choices(['blocked', 'allow']))
    .argument('<ADDRESS>')
    .action((action, address) => {
      if (!address.includes('@')) refuse('mails takes an e-mail address');
      return run(line, 'text', async (operator) => (await import('./mails.ts')).mails(operator, action, address));
    });

  add(
    'recount',
    'count the stamps of some hours again, from the stamps themselves\n\n' +
      'FROM and TO are times such as 2026-11-24T18:00Z or 2026-11-24 (UTC); every hour between is counted again. The service itself ' +
      'recounts each hour after it ends. Failures and latencies do not change. Settings: MONGODB_URL. Exit codes: 0 done, 1 the store ' +
      'does not answer, 2 usage or settings.',
  )
    .argument('<FROM>')
    .argument('<TO>')
    .action((from, to) => {
      const [fromMs, toMs] = [timeOf(from), timeOf(to)];
      if (!(fromMs < toMs)) refuse('recount takes two times such as 2026-11-24T18:00Z or 2026-11-24, the earlier one first');
      return run(line, 'text', async (operator) => (await import('./recount.ts')).recount(operator, fromMs, toMs));
    });

  add(
    'refresh-lists',
    'fetch and check the trusted lists now, like the workers every six hours\n\n' +
      'Prints which list of each country is in force. The settings are those of the workers: MONGODB_URL, LOTL_SIGNERS_FILE, ' +
      'TRUSTED_LIST_URLS, TRUSTED_LISTS_FILE. Exit codes: 0 done, 1 a list is refused or cannot be fetched, or the store does not ' +
      'answer, 2 usage or settings.',
  ).action(() => run(line, 'json', async (operator) => (await import('./refresh-lists.ts')).refreshLists(operator)));

  add(
    'rotate-master-key',
    'encrypt the keys in the database with another master key\n\n' +
      'NEW_MASTER_KEY replaces MASTER_KEY. Running processes continue with the keys that they have read. Processes that start later need ' +
      'the new key as MASTER_KEY. Running it again changes nothing. Settings: MONGODB_URL, MASTER_KEY, NEW_MASTER_KEY. Exit codes: 0 ' +
      'done, 1 the store does not answer, 2 usage or settings.',
  ).action(() => run(line, 'text', async (operator) => (await import('./rotate-master-key.ts')).rotateMasterKey(operator)));
}

const timeOf = (text: string): number => (/^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d)?Z)?$/.test(text) ? Date.parse(text) : Number.NaN);

/** Runs a command. An expected failure becomes one line and an exit code. `output`: whether the command has results in JSON. */
async function run(line: OperatorLine, output: 'json' | 'text', work: (operator: Operator) => Promise<OperatorExitCode>): Promise<void> {
  const { program, args, stdout, stderr, end } = line;
  const [json, quiet] = [args.includes('--json'), args.includes('--quiet')];
  if (json && output === 'text') program.error('--json is not for this command');
  const print = (text: string, isProblem = false) => void ((isProblem || !quiet) && stdout.write(text));
  try {
    end(await work({ environment: line.environment(), json, print, stderr }));
  } catch (error) {
    if (!(error instanceof ConfigError || error instanceof ServiceError || error instanceof TransientError)) throw error;
    const isOfStore = error instanceof ServiceError && error.code === 'store_unavailable';
    stderr.write(`qstamp: ${isOfStore ? 'MONGODB_URL: ' : ''}${error.message}\n`);
    end(error instanceof ConfigError ? 2 : 1);
  }
}
