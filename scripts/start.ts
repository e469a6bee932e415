/** `npm start`: runs Redis, MongoDB, the API and one worker on this machine until Ctrl-C. The state is in `.local/`. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseEnv } from 'node:util';
import { developmentToken, withSecretFiles } from '../src/shared/runtime/config.ts';
import type { ServiceProcess } from './service-processes.ts';
import { checkoutDir, findCacheDir, localDir, type StackContext } from './stack/context.ts';
import { runScript } from './stack/interrupt.ts';
import { takeLock } from './stack/lock.ts';
import { startMailCatcher } from './stack/mail-catcher.ts';
import { masterKeyFile } from './stack/master-key.ts';
import { isPortFree } from './stack/ports.ts';
import { createProgress, StepError } from './stack/progress.ts';
import { type Service, startService } from './stack/service.ts';
import { startStack } from './stack/stack.ts';
import { describeService } from './start-message.ts';

const portsFile = join(localDir, 'ports.json');

type Ports = Partial<Record<'redis' | 'mongo' | 'mail' | 'tsa', number>>;

/**
 * Reads the ports of the last start, so that URLs stay the same if possible. Returns no ports if the file is missing or a crash left only a part of
 * it.
 */
function readPorts(): Ports {
  try {
    return JSON.parse(readFileSync(portsFile, 'utf8')) ?? {};
  } catch {
    return {};
  }
}

/** Reads a setting. For a secret it may be the content of the file in `<NAME>_FILE`. */
const readSetting = (name: string): string | undefined => withSecretFiles(process.env)[name] || undefined;
const isSet = (name: string) => readSetting(name) !== undefined;

/** The metrics port of the worker is one above that of the API, because both run on this machine. */
function metricsOfWorker({ METRICS_PORT: given }: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return given && Number(given) > 0 ? { METRICS_PORT: String(Number(given) + 1) } : {};
}

/** Says what a link in a mail is for: opening the wrong one could stop all mails to an address. */
function labelOf(link: string): string {
  if (link.includes('/c/')) return 'confirm: ';
  if (link.includes('/mail/stop/')) return 'stop these mails: ';
  return link.endsWith('/evidence.zip') ? 'evidence: ' : '';
}

async function refuseBusyPort(): Promise<void> {
  const port = Number(process.env.PORT || 8080);
  const host = process.env.HOST || '127.0.0.1';
  if (!(port > 0 && port < 65_536) || (await isPortFree(port, host))) return;
  throw new StepError(
    `Listening on ${host}:${port}`,
    'something else listens there',
    `PORT=0 ${process.env.TSP ? `TSP=${process.env.TSP} ` : ''}npm start takes any free port; PORT=<number> another one`,
  );
}

/** Resolves with the report of the first process that ends unexpectedly, or with undefined if the user stopped us. */
function untilEnd(
  signal: AbortSignal,
  watched: readonly { onUnexpectedExit(listener: (report: string) => void): void }[],
): Promise<string | undefined> {
  return new Promise((resolve) => {
    for (const part of watched) part.onUnexpectedExit(resolve);
    signal.addEventListener('abort', () => resolve(undefined), { once: true });
    if (signal.aborted) resolve(undefined);
  });
}

async function run(signal: AbortSignal): Promise<number> {
  const envFile = join(checkoutDir, '.env');
  // `process.loadEnvFile` takes a byte order mark for a part of the first name.
  const given = existsSync(envFile) ? parseEnv(readFileSync(envFile, 'utf8').trim()) : {};
  for (const [name, value] of Object.entries(given)) process.env[name] ??= value;
  if (process.env.NODE_ENV === 'production') {
    process.stderr.write('npm start is for development; for production see docs/operators/install.md, "Without Docker".\n');
  }
  mkdirSync(localDir, { recursive: true });
  let state = 'starting';
  const holder = await takeLock(localDir, () => `process ${process.pid}, ${state}`);
  if (holder !== undefined) {
    process.stderr.write(`qstamp already runs in this checkout: ${holder}\n`);
    return 1;
  }
  await refuseBusyPort();

  const progress = createProgress();
  const context: StackContext = { signal, progress, dataDir: localDir, cacheDir: findCacheDir(), durable: true };
  const opened: (() => Promise<void>)[] = [];
  try {
    const ports = readPorts();
    const redis = ['REDIS_URL', 'REDIS_SENTINELS', 'REDIS_CLUSTER_NODES'].map(readSetting).find(Boolean);
    const given = { REDIS_URL: redis, MONGODB_URL: readSetting('MONGODB_URL') };
    const stack = await startStack(context, { env: given, redis: { preferredPort: ports.redis }, mongo: { preferredPort: ports.mongo } });
    opened.push(() => stack.stop());

    const env: NodeJS.ProcessEnv = { ...process.env };
    if (redis === undefined) env.REDIS_URL = stack.redisUrl;
    if (!isSet('MONGODB_URL')) env.MONGODB_URL = stack.mongoUrl;
    if (!isSet('MASTER_KEY')) env.MASTER_KEY_FILE = masterKeyFile(localDir);
    if (!isSet('SMTP_URL')) {
      const catcher = await startMailCatcher({
        preferredPort: ports.mail,
        onMail: ({ to, subject, links }) =>
          progress.say(`[mail] to ${to.join(', ')}: ${subject}${links.map((link) => `\n         ${labelOf(link)}${link}`).join('')}`),
      });
      opened.push(() => catcher.stop());
      ports.mail = catcher.port;
      env.SMTP_URL = catcher.url;
      env.MAIL_FROM ||= 'qstamp@localhost';
      // Nobody gets these mails, so nobody needs protection from too many of them.
      env.RATE_RECIPIENT_PER_HOUR ||= '0';
      env.RATE_RECIPIENT_PER_DAY ||= '0';
    }

    const services: Service[] = [];
    const start = async (name: ServiceProcess, settings: NodeJS.ProcessEnv) => {
      const logFile = join(localDir, 'logs', `${name}.log`);
      const service = await progress.step(`Starting the ${name}`, () =>
        startService(name, { env: settings, logFile, say: progress.say, signal }),
      );
      opened.push(() => service.stop());
      services.push(service);
      return service.ready;
    };
    if (env.TSP === 'local') {
      const tsa = await start('tsa', { ...env, HOST: '127.0.0.1', PORT: String(ports.tsa ?? 0), TSA_STATE_DIR: join(localDir, 'tsa') });
      env.TSP_PROVIDERS_FILE ||= String(tsa.providersFile);
      ports.tsa = Number(new URL(String(tsa.url)).port);
    }
    // Stamps from an earlier start with TSP=local must still be valid if TSP has another value now.
    const localRoot = join(localDir, 'tsa', 'root.pem');
    if (env.TSP !== 'local' && existsSync(localRoot)) env.TRUST_ANCHORS_FILE ||= localRoot;
    const url = String((await start('api', env)).url);
    await start('worker', { ...env, ...metricsOfWorker(env), PUBLIC_BASE_URL: env.PUBLIC_BASE_URL || url });

    if (stack.servers.redis) ports.redis = stack.servers.redis.port;
    if (stack.servers.mongo) ports.mongo = stack.servers.mongo.port;
    writeFileSync(portsFile, JSON.stringify(ports));
    state = `at ${url}`;
    progress.say(
      describeService({
        url,
        stack,
        token: isSet('SERVICE_TOKENS') ? undefined : developmentToken.token,
        isMailCaught: !isSet('SMTP_URL'),
        env,
      }),
    );

    const failure = await untilEnd(signal, [...services, ...Object.values(stack.servers)]);
    progress.say(failure === undefined ? 'stopping …' : `\n${failure}\n\nstopping everything else …`);
    return failure === undefined ? 0 : 1;
  } finally {
    for (const close of opened.reverse()) await close();
  }
}

await runScript(run);
