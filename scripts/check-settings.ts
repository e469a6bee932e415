/**
 * Says in one line what the service cannot start with, before anything is started: a wrong setting, a file that is not there, and, with a port as
 * argument, that something else than this service listens on it. Exit codes: 0 nothing to mend, 1 the line says what.
 *
 *     node scripts/check-settings.ts [port]
 */
import { createServer } from 'node:net';
import { systemClock } from '../src/shared/runtime/clock.ts';
import { ConfigError, loadConfig } from '../src/shared/runtime/config.ts';
import { loadOrExit } from '../src/shared/runtime/lifecycle.ts';
import { createLogger } from '../src/shared/runtime/log.ts';
import { loadTrustSettings } from '../src/shared/trust/trusted-providers.ts';
import { openTsas } from '../src/workers/providers/open-provider.ts';

/** True when nothing listens on this port of loopback. */
const isFree = (port: number) =>
  new Promise<boolean>((resolve) => {
    const server = createServer();
    server.once('error', ({ code }: NodeJS.ErrnoException) => resolve(code !== 'EADDRINUSE'));
    server.listen({ port, host: '127.0.0.1', exclusive: true }, () => server.close(() => resolve(true)));
  });

/** True when this service already answers there: then it is being scaled or started anew. */
async function isOurs(port: number): Promise<boolean> {
  try {
    const answer = await fetch(`http://127.0.0.1:${port}/openapi.json`, { signal: AbortSignal.timeout(3_000) });
    const document: { info?: { title?: unknown } } = JSON.parse(await answer.text());
    return document.info?.title === 'qstamp';
  } catch {
    return false;
  }
}

const port = Number(process.argv[2]);
const isTaken = port > 0 && !(await isFree(port)) && !(await isOurs(port));
loadOrExit(() => {
  const { providers } = loadTrustSettings(loadConfig(process.env));
  const log = createLogger({ level: 'silent', process: 'check' });
  for (const provider of openTsas(providers, { clock: systemClock, log })) provider.close();
  if (isTaken) throw new ConfigError(`PORT: got "${port}", which another process listens on; it takes a free port`);
});
