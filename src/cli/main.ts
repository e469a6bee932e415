import packageJson from '../../package.json' with { type: 'json' };
import { type Client, createClient } from './client.ts';
import { type Command, parseCommandLine } from './command-line.ts';
import { CommandFailure, type ExitCode, exitCodes } from './failure.ts';
import { stampFiles } from './stamp.ts';
import { createTerminal, type Terminal } from './terminal.ts';
import { usage } from './usage.ts';
import { verifySubjects } from './verify.ts';
import { addOutputs, completeWorkflow, startWorkflow } from './workflow.ts';

const { argv, env, stdout, stderr } = process;

function connect(): Client {
  const baseUrl = env.QSTAMP_URL || 'http://127.0.0.1:8080';
  if (!/^https?:$/.test(URL.parse(baseUrl)?.protocol ?? '')) {
    throw new CommandFailure(exitCodes.usage, 'QSTAMP_URL takes an address that starts with http:// or https://');
  }
  return createClient({ baseUrl, serviceToken: env.QSTAMP_SERVICE_TOKEN || undefined });
}

async function run(command: Command, terminal: Terminal): Promise<ExitCode> {
  switch (command.name) {
    case 'help':
      stdout.write(usage);
      return exitCodes.ok;
    case 'version':
      stdout.write(`${packageJson.version}\n`);
      return exitCodes.ok;
    case 'stamp':
      return stampFiles(command, connect(), terminal);
    case 'verify':
      return verifySubjects(command.subjects, connect(), terminal);
    case 'workflow start':
      return startWorkflow(command, connect(), terminal);
    case 'workflow add':
      return addOutputs(command, connect(), terminal);
    case 'workflow complete':
      return completeWorkflow(command.workflow, connect(), terminal);
  }
}

let terminal = createTerminal({ json: argv.includes('--json'), stdout, stderr });
try {
  const { command, json } = parseCommandLine(argv.slice(2));
  terminal = createTerminal({ json, stdout, stderr });
  process.exitCode = await run(command, terminal);
} catch (error) {
  process.exitCode = terminal.problem(undefined, error);
}
