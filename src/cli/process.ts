import { constants } from 'node:os';
import { exitCodes, misuse } from './failure.ts';
import { qstamp, type Surroundings } from './main.ts';

/**
 * Runs the command as this process: `bin/qstamp.mjs` in a checkout, `bin/qstamp.js` in the package.
 *
 * @param operator the commands for operators. The package has none
 */
export async function runAsProcess(
  { argv, env: environment, stdin, stdout, stderr }: NodeJS.Process,
  operator: Surroundings['operator'] = withoutOperator,
): Promise<void> {
  const args = argv.slice(2);
  const command = args.find((arg) => !arg.startsWith('-'));
  // A reader such as `head` may close the pipe early. Then nobody wants more results, and the command ends as if by SIGPIPE. But what makes stamps
  // first saves those that it has asked for.
  const endOfPipe = 128 + constants.signals.SIGPIPE;
  stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE' || error.code === 'ERR_STREAM_DESTROYED') {
      if (!['stamp', 'workflow', 'mcp'].includes(command ?? '')) process.exit(endOfPipe);
      process.on('exit', () => {
        process.exitCode = endOfPipe;
      });
      return;
    }
    stderr.write(`qstamp: the results cannot be written: ${error.message}\n`);
    process.exit(exitCodes.file);
  });
  // Messages that nobody can read are no reason to stop.
  stderr.on('error', () => undefined);
  process.exitCode = await qstamp({ args, environment, stdin, stdout, stderr, operator });
}

const withoutOperator = () => async () => {
  throw misuse('name a file; renewing all evidence of a service is a command of its checkout');
};
