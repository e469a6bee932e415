import { setTimeout as delay } from 'node:timers/promises';
import type { FastifyInstance } from 'fastify';
import { type Config, ConfigError, loadConfig } from '../shared/runtime/config.ts';
import { type ProcessContext, runProcess } from '../shared/runtime/lifecycle.ts';
import { buildApp } from './app.ts';
import { openApiTools } from './tools.ts';

/** Opens everything that an API process needs, and listens. `lifecycle` closes everything again when the process ends. */
export async function openApi(context: ProcessContext<Config>): Promise<{ url: string }> {
  const tools = await openApiTools(context);
  const app = await buildApp(tools);
  // For DRAIN_MS, each answer closes its connection, so that balancers move to another API.
  app.addHook('preClose', () => delay(context.config.DRAIN_MS));
  context.lifecycle.onClose('http', () => app.close());
  await tools.untilReady();
  return { url: await listen(app, context.config) };
}

/** Listens and returns the URL. @throws ConfigError if `HOST` or `PORT` cannot be used */
async function listen(app: FastifyInstance, { HOST: host, PORT: port }: Config): Promise<string> {
  try {
    return await app.listen({ host, port });
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined;
    if (code === 'EADDRINUSE')
      throw new ConfigError(`PORT: got "${port}", but another process listens on it; set a free port, or 0 for any`);
    if (code === 'EACCES') throw new ConfigError(`PORT: got "${port}", but this user may not listen on it; set a free port, or 0 for any`);
    if (code === 'ENOTFOUND' || code === 'EADDRNOTAVAIL') throw new ConfigError(`HOST: got "${host}"; set an address of this machine`);
    throw error;
  }
}

if (import.meta.main) await runProcess('api', () => loadConfig(process.env), openApi);
