import { createServer } from 'node:net';
import { ConfigError, loadConfig } from '../shared/runtime/config.ts';
import { createLogger } from '../shared/runtime/log.ts';
import { systemClock } from '../shared/runtime/timers.ts';
import { loadListSources } from '../shared/trust/list-sources.ts';
import { loadTrustSettings } from '../shared/trust/trusted-providers.ts';
import { openTsas } from '../workers/providers/index.ts';
import type { Operator, OperatorExitCode } from './operator.ts';

/** Checks the settings, and the port if it is not 0. @throws ConfigError if the service cannot start with them */
export async function checkSettings({ environment }: Operator, port: number): Promise<OperatorExitCode> {
  const isTaken = port > 0 && !(await isFree(port)) && !(await isOurs(port));
  const config = loadConfig(environment);
  const { providers } = loadTrustSettings(config);
  loadListSources(config);
  const log = createLogger({ level: 'silent', process: 'check' });
  for (const provider of await openTsas(providers, { clock: systemClock, log })) provider.close();
  if (isTaken) throw new ConfigError(`PORT: got "${port}", but another process listens on it; set a free port`);
  return 0;
}

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
