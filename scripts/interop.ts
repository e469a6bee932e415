/**
 * `npm run interop`: foreign generators make clients of `/openapi.json`, and these call every operation of a running service; Bouncy
 * Castle and this house judge each other's evidence records. What is foreign is installed once, into the cache. Redis and MongoDB are those of `REDIS_URL` and `MONGODB_URL`, or servers of its own.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { developmentToken } from '../src/shared/runtime/config.ts';
import { scenario } from '../test/interop/scenario.ts';
import { exchangeWithBouncyCastle } from './interop-records.ts';
import { findProgram } from './stack/administrator.ts';
import { cached, recipeKey } from './stack/cache.ts';
import { checkoutDir, type StackContext } from './stack/context.ts';
import { runScript } from './stack/interrupt.ts';
import { startMailCatcher } from './stack/mail-catcher.ts';
import { newMasterKey } from './stack/master-key.ts';
import { CommandError, runCommand } from './stack/run-command.ts';
import { type Service, startService } from './stack/service.ts';
import { createTemporaryContext, startStack } from './stack/stack.ts';

const pythonGenerator = 'openapi-python-client==0.29.1';
const typescriptGenerator = ['@hey-api/openapi-ts@0.95.0', 'typescript@5.9.3'];

/** This generator handles the media types of RFC 3161 as files only when it is told to. */
const pythonConfig = {
  content_type_overrides: Object.fromEntries(
    ['reply', 'query', 'token'].map((what) => [`application/timestamp-${what}`, 'application/octet-stream']),
  ),
};

interface Stranger {
  readonly name: string;
  /** Makes a client of the document in `documentFile`; answers the command that drives it, to be given the rest of its arguments. */
  readonly generate: (context: StackContext, documentFile: string) => Promise<readonly [command: string, ...args: string[]]>;
}

const strangers: readonly Stranger[] = [
  {
    name: 'openapi-python-client',
    generate: async (context, documentFile) => {
      const python = findProgram('python3');
      if (python === undefined) throw new CommandError('there is no python3 on PATH', '');
      const place = await cached(context, 'openapi-python-client', recipeKey(pythonGenerator), async (folder) => {
        await runCommand(python, ['-m', 'venv', folder], context);
        await runCommand(join(folder, 'bin/python'), ['-m', 'pip', 'install', '--quiet', pythonGenerator], context);
      });
      const [client, config] = [join(context.dataDir, 'qstamp_client'), join(context.dataDir, 'openapi-python-client.json')];
      writeFileSync(config, JSON.stringify(pythonConfig));
      const options = ['--path', documentFile, '--output-path', client, '--meta', 'none', '--config', config, '--fail-on-warning'];
      const interpreter = join(place, 'bin/python');
      const env = { ...process.env, PATH: `${join(place, 'bin')}:${process.env.PATH}` };
      await runCommand(interpreter, ['-m', 'openapi_python_client', 'generate', ...options], { ...context, env });
      return [interpreter, 'test/interop/openapi-python-client.py', client];
    },
  },
  {
    name: '@hey-api/openapi-ts',
    generate: async (context, documentFile) => {
      const place = await cached(context, 'hey-api-openapi-ts', recipeKey(...typescriptGenerator), async (folder) => {
        writeFileSync(join(folder, 'package.json'), '{"private":true}');
        await runCommand('npm', ['install', '--no-audit', '--no-fund', ...typescriptGenerator], { ...context, cwd: folder });
      });
      const [client, config] = [join(context.dataDir, 'typescript-client'), join(context.dataDir, 'openapi-ts.config.mjs')];
      const settings = { input: documentFile, output: { path: client, module: { extension: '.ts' } } };
      writeFileSync(config, `export default ${JSON.stringify(settings)};`);
      await runCommand(process.execPath, [join(place, 'node_modules/@hey-api/openapi-ts/bin/run.js'), '-f', config], {
        ...context,
        cwd: place,
      });
      return [process.execPath, 'test/interop/openapi-ts.ts', client];
    },
  },
];

/** How many calls of one generated client were right, and a line for each that was not. */
async function meet(
  { generate }: Stranger,
  context: StackContext,
  url: string,
  documentFile: string,
): Promise<{ right: number; faults: string[] }> {
  const scenarioFile = join(context.dataDir, 'scenario.json');
  writeFileSync(scenarioFile, JSON.stringify(scenario));
  const lines: string[] = [];
  try {
    const [command, ...args] = await generate(context, documentFile);
    const onLine = (line: string) => void lines.push(line);
    await runCommand(command, [...args, url, developmentToken.token, scenarioFile], { signal: context.signal, cwd: checkoutDir, onLine });
  } catch (error) {
    if (!(error instanceof CommandError)) throw error;
    if (lines.length === 0) return { right: 0, faults: [error.message] };
  }
  const faults = lines.filter((line) => !line.endsWith(': ok'));
  return { right: lines.length - faults.length, faults };
}

interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, { readonly operationId: string }>>>>;
}

/** Operations of the document that no step calls. */
function uncalledOf({ paths }: Document): string[] {
  const called = new Set(scenario.map(({ operation }) => operation));
  const ids = Object.values(paths).flatMap((methods) => Object.values(methods).map(({ operationId }) => operationId));
  return ids.filter((id) => !called.has(id));
}

await runScript(async (signal) => {
  const { context, dispose } = createTemporaryContext(signal);
  const opened: (() => Promise<void>)[] = [];
  try {
    const stack = await startStack(context, { env: process.env });
    opened.push(() => stack.stop());
    const mail = await startMailCatcher({ onMail: () => undefined });
    opened.push(() => mail.stop());
    const environment = { MASTER_KEY: newMasterKey(), ...process.env, REDIS_URL: stack.redisUrl, MONGODB_URL: stack.mongoUrl };
    const start = async (name: Service['name'], settings: NodeJS.ProcessEnv): Promise<Service['ready']> => {
      const env = { ...environment, PORT: '0', LOG_LEVEL: 'warn', ...settings };
      const service = await startService(name, { env, logFile: join(context.dataDir, `${name}.log`), say: context.progress.say, signal });
      opened.push(() => service.stop());
      return service.ready;
    };
    mkdirSync(join(context.dataDir, 'tsa'));
    const tsa = await start('tsa', { TSA_STATE_DIR: join(context.dataDir, 'tsa') });
    // Without a limit: two runs in a row on the same Redis would reach it.
    const settings = {
      RATE_WORKFLOW_START_PER_HOUR: '0',
      TSP: 'local',
      TSP_PROVIDERS_FILE: String(tsa.providersFile),
      SMTP_URL: mail.url,
      MAIL_FROM: 'qstamp@localhost',
    };
    const url = String((await start('api', settings)).url);
    await start('worker', { ...settings, PUBLIC_BASE_URL: url });

    const document = await (await fetch(`${url}/openapi.json`, { signal })).text();
    const documentFile = join(context.dataDir, 'openapi.json');
    writeFileSync(documentFile, document);
    const uncalled = uncalledOf(JSON.parse(document) as Document);

    let isGood = uncalled.length === 0;
    const rows: string[] = [];
    for (const stranger of strangers) {
      const { right, faults } = await context.progress.step(stranger.name, () => meet(stranger, context, url, documentFile));
      isGood &&= faults.length === 0 && right === scenario.length;
      rows.push(
        `${stranger.name.padEnd(24)}${`${right} of ${scenario.length} calls`.padEnd(20)}${faults.length === 0 ? 'passed' : 'FAILED'}`,
        ...faults,
      );
    }
    context.progress.say(['', 'client                  calls that were right  result', ...rows].join('\n'));
    const records = await context.progress.step('Bouncy Castle', () => exchangeWithBouncyCastle(context));
    isGood &&= records.faults.length === 0 && records.right > 0;
    const verdict = records.faults.length === 0 ? 'passed' : 'FAILED';
    context.progress.say([`\nevidence records, judged rightly on both sides: ${records.right}  ${verdict}`, ...records.faults].join('\n'));
    if (uncalled.length > 0) context.progress.say(`no step of test/interop/scenario.ts calls: ${uncalled.join(', ')}`);
    return isGood ? 0 : 1;
  } finally {
    for (const close of opened.reverse()) await close();
    dispose();
  }
});
