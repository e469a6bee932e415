import { createServer } from 'node:net';
import { ConfigError, loadConfig } from '../shared/runtime/config.ts';
import { createLogger } from '../shared/runtime/log.ts';
import { systemClock } from '../shared/runtime/timers.ts';
import { loadListSources } from '../shared/trust/list-sources.ts';
import { loadTrustSettings } from '../shared/trust/trusted-providers.ts';
import { openTsas } from '../workers/providers/index.ts';
import { type OperatorCommand, type OperatorExitCode, runOperatorCommand, UsageError } from './operator-command.ts';

const usage = `qstamp check-settings [PORT]: says in one line why the service cannot start

  PORT    also check that nothing but this service listens there
  --help

Nothing is started. Exit codes: 0 nothing to fix, 2 the line names the fault: a wrong setting, a
missing file, a port in use.
`;

/** Returns true if nothing listens on this port of the loopback address. */
const isFree = (port: number) =>
  new Promise<boolean>((resolve) => {
    const server = createServer();
    server.once('error', ({ code }: NodeJS.ErrnoException) => resolve(code !== 'EADDRINUSE'));
    server.listen({ port, host: '127.0.0.1', exclusive: true }, () => server.close(() => resolve(true)));
  });

/** Returns true if this service already answers on the port: then it is only scaled or restarted. */
async function isOurs(port: number): Promise<boolean> {
  try {
    const answer = await fetch(`http://127.0.0.1:${port}/openapi.json`, { signal: AbortSignal.timeout(3_000) });
    const document: { info?: { title?: unknown } } = JSON.parse(await answer.text());
    return document.info?.title === 'qstamp';
  } catch {
    return false;
  }
}

/** Runs `qstamp check-settings [PORT]`. Resolves with the exit code. */
export const checkSettings = (command: OperatorCommand): Promise<OperatorExitCode> =>
  runOperatorCommand(command, usage, async ({ operands: [given, ...others], json, all }) => {
    const port = Number(given ?? 0);
    if (others.length > 0 || json || all || !Number.isInteger(port)) throw new UsageError('check-settings takes at most one port');
    const isTaken = port > 0 && !(await isFree(port)) && !(await isOurs(port));
    const config = loadConfig(command.environment);
    const { providers } = loadTrustSettings(config);
    loadListSources(config);
    const log = createLogger({ level: 'silent', process: 'check' });
    for (const provider of await openTsas(providers, { clock: systemClock, log })) provider.close();
    if (isTaken) throw new ConfigError(`PORT: got "${port}", but another process listens on it; set a free port`);
    return 0;
  });
