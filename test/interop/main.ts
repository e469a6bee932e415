/**
 * `npm run interop`: strangers use a running service. A foreign generator makes a client of `/openapi.json`, which calls every operation;
 * time-stamp clients are given the address of the RFC 3161 door; two of the Model Context Protocol use `/mcp`; Bouncy Castle and DSS judge our evidence records and containers, and we
 * those of Bouncy Castle; scitt-cose, pymerkle, jq and OpenSSL judge what a workflow proves; DSS judges trusted lists, and so do we; our own client runs in Deno and Bun; the examples run with packages of others. What they need is installed once, into the cache. Redis and MongoDB are those of
 * `REDIS_URL` and `MONGODB_URL`, or servers of its own. Names as arguments: only these strangers.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { checkoutDir, createTemporaryContext } from '../../scripts/stack/context.ts';
import { runScript } from '../../scripts/stack/interrupt.ts';
import { startMailCatcher } from '../../scripts/stack/mail-catcher.ts';
import { newMasterKey } from '../../scripts/stack/master-key.ts';
import { StepError } from '../../scripts/stack/progress.ts';
import { runCommand } from '../../scripts/stack/run.ts';
import { type Service, startService } from '../../scripts/stack/service.ts';
import { startStack } from '../../scripts/stack/stack.ts';
import { developmentToken } from '../../src/shared/runtime/config.ts';
import { exchangeWithStrangers } from './exchange.ts';
import { generator, meetGenerator } from './generated-clients.ts';
import { mcpStrangers } from './mcp-clients.ts';
import { meetOurClients, ourClients } from './our-clients.ts';
import { recipes } from './recipes.ts';
import { scenario } from './scenario.ts';
import { meetTimeStampClients, timeStampClients } from './time-stamp-clients.ts';
import { meetStrangers, transparencyStrangers } from './transparency.ts';
import { judgeTrustedLists } from './trusted-lists.ts';

interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, { readonly operationId: string; readonly tags: readonly string[] }>>>>;
}

/** Operations of the document that no step calls; those for clients of RFC 3161 are left to such clients. */
function uncalledOf({ paths }: Document): string[] {
  const called = new Set(scenario.map(({ operation }) => operation));
  const operations = Object.values(paths).flatMap((methods) => Object.values(methods));
  return operations.flatMap(({ operationId, tags }) => (called.has(operationId) || tags.includes('RFC 3161') ? [] : [operationId]));
}

/** The providers file of the development TSA, with batches; what waits meanwhile goes together, so one request at a time. */
function batchingFile(file: string): string {
  const entries = (JSON.parse(readFileSync(file, 'utf8')) as object[]).map((entry) => ({ ...entry, aggregate: {}, max_concurrent: 1 }));
  const batching = join(dirname(file), 'batching.json');
  writeFileSync(batching, JSON.stringify(entries));
  return batching;
}

const records = { name: 'evidence-records' };
const lists = { name: 'trusted-lists' };
const named = process.argv.slice(2);
const chosen = <T extends { readonly name: string }>(all: readonly T[]) =>
  all.filter(({ name }) => named.length === 0 || named.includes(name));

/** @throws StepError for a name that nobody has: nothing would run, and all would pass */
function refuseUnknownNames(): void {
  const all = [generator, records, lists, ...mcpStrangers, ...timeStampClients, ...transparencyStrangers, ...recipes, ...ourClients].map(
    ({ name }) => name,
  );
  const unknown = named.filter((name) => !all.includes(name));
  if (unknown.length > 0)
    throw new StepError('interop', `nobody is named ${unknown.join(', ')}`, `name some of: ${[...new Set(all)].join(', ')}`);
}

await runScript(async (signal) => {
  refuseUnknownNames();
  const { context, dispose } = createTemporaryContext(signal);
  const opened: (() => Promise<void>)[] = [];
  try {
    let isGood = true;
    if (chosen([lists]).length > 0) {
      const judged = await context.progress.step('trusted lists', () => judgeTrustedLists(context));
      isGood &&= judged.isGood;
      context.progress.say(['', ...judged.rows, `trusted lists  ${judged.isGood ? 'passed' : 'FAILED'}`].join('\n'));
      // The lists need no service.
      if (named.every((name) => name === lists.name) && named.length > 0) return isGood ? 0 : 1;
    }

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
      RATE_RECIPIENT_PER_HOUR: '0',
      RATE_RECIPIENT_PER_DAY: '0',
      RATE_TSA_PER_MINUTE: '0',
      TSP: 'local',
      TSP_PROVIDERS_FILE: batchingFile(String(tsa.providersFile)),
      SMTP_URL: mail.url,
      MAIL_FROM: 'qstamp@localhost',
    };
    const url = String((await start('api', settings)).url);
    await start('worker', { ...settings, PUBLIC_BASE_URL: url });

    const document = await (await fetch(`${url}/openapi.json`, { signal })).text();
    const documentFile = join(context.dataDir, 'openapi.json');
    writeFileSync(documentFile, document);
    const uncalled = uncalledOf(JSON.parse(document) as Document);

    isGood &&= uncalled.length === 0;
    if (chosen([generator]).length > 0) {
      const { right, faults } = await context.progress.step(generator.name, () => meetGenerator(context, url, documentFile));
      const isRight = faults.length === 0 && right === scenario.length;
      isGood &&= isRight;
      context.progress.say(
        [`${generator.name}: ${right} of ${scenario.length} calls right  ${isRight ? 'passed' : 'FAILED'}`, ...faults].join('\n'),
      );
    }
    if (chosen([records]).length > 0) {
      const judged = await context.progress.step('Bouncy Castle and DSS', () =>
        exchangeWithStrangers(context, {
          url,
          serviceToken: developmentToken.token,
          rootFile: String(tsa.rootFile),
          crlFile: String(tsa.crlFile),
          renew: () =>
            runCommand(process.execPath, ['bin/qstamp.mjs', 'renew'], { signal, cwd: checkoutDir, env: { ...environment, ...settings } }),
        }),
      );
      const isRight = judged.faults.length === 0 && judged.right > 0;
      isGood &&= isRight;
      const verdict = isRight ? 'passed' : 'FAILED';
      context.progress.say(
        [`\nevidence records and containers, judged rightly on both sides: ${judged.right}  ${verdict}`, ...judged.faults].join('\n'),
      );
    }
    for (const stranger of chosen(mcpStrangers)) {
      const { name, right, faults } = await context.progress.step(stranger.name, () => stranger.meet(context, url));
      isGood &&= faults.length === 0 && right > 0;
      context.progress.say([`${name.padEnd(28)}${right} right  ${faults.length === 0 ? 'passed' : 'FAILED'}`, ...faults].join('\n'));
    }
    if (uncalled.length > 0) context.progress.say(`no step of test/interop/scenario.ts calls: ${uncalled.join(', ')}`);

    const rootFile = join(dirname(String(tsa.providersFile)), 'root.pem');
    const met = await meetTimeStampClients(chosen(timeStampClients), context, { url, rootFile });
    isGood &&= met.isGood;
    if (met.rows.length > 0) context.progress.say(['', ...met.rows].join('\n'));
    const transparency = await meetStrangers([...chosen(transparencyStrangers), ...chosen(recipes)], context, { url, rootFile });
    isGood &&= transparency.isGood;
    if (transparency.rows.length > 0) context.progress.say(['', ...transparency.rows].join('\n'));
    const ours = await meetOurClients(chosen(ourClients), context, { url, document: JSON.parse(document) });
    isGood &&= ours.isGood;
    if (ours.rows.length > 0) context.progress.say(['', ...ours.rows].join('\n'));
    return isGood ? 0 : 1;
  } finally {
    for (const close of opened.reverse()) await close();
    dispose();
  }
});
