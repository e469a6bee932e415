import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { runToEnd } from '../../../scripts/stack/run.ts';
import { curlOf } from '../../../src/api/docs/curl.ts';
import { mailedService } from '../../support/mailed-service.ts';
import { eventually, randomHash, stampAgent, stampInternal } from '../../support/requests.ts';
import { serviceToken } from '../../support/service.ts';
import { providersSettings, startTsa } from '../../support/tsa-service.ts';
import { completeWorkflow, stampOutput, startWorkflow } from '../../support/workflows.ts';

/** The commands on `/docs`, run in a shell against the service that shows them. The runner ends its TSA. */
const onEnd = () => undefined;
const providers = providersSettings([{ tsa: await startTsa({ onEnd }) }], onEnd);
const { mail, service } = await mailedService({ RATE_AGENT_PER_MINUTE: '600', ...providers });
const html = await (await service.fetch('/docs')).text();

const unescaped = (text: string) =>
  text.replaceAll('&quot;', '"').replaceAll('&#39;', "'").replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&amp;', '&');
const commandsIn = (part: string) => [...part.matchAll(/class="command" data-copy="([^"]*)"/g)].map(([, text = '']) => unescaped(text));

const [guideHtml = '', ...operationsHtml] = html.split('<details class="operation" id="');
const operations = operationsHtml.map((part) => {
  const [command = ''] = commandsIn(part);
  return { id: part.slice(0, part.indexOf('"')), command };
});

/** Runs a command like a reader who copied it, and returns the status of each answer, and the output. */
async function run(command: string): Promise<{ statuses: number[]; output: string }> {
  const cwd = mkdtempSync(join(tmpdir(), 'qstamp-docs-'));
  onTestFinished(() => rmSync(cwd, { recursive: true }));
  const counted = `curl() { command curl -sS -w '%{stderr}HTTP %{http_code}\\n' "$@"; }\n${command}`;
  const { stdout, stderr } = await runToEnd('bash', ['-euc', counted], { cwd, env: { PATH: process.env.PATH ?? '' } });
  return { statuses: [...stderr.matchAll(/^HTTP (\d+)$/gm)].map(([, status]) => Number(status)), output: `${stdout}${stderr}` };
}

/** Puts values into the lines that set variables. */
const filled = (command: string, values: Readonly<Record<string, string>>) =>
  command.replace(/^([A-Z0-9_]+)='?put .*$/gm, (line, name: string) => (values[name] === undefined ? line : `${name}='${values[name]}'`));

/** Everything that a reader of the page has: a completed or an open workflow with an output, a sealed stamp, and a mail. */
async function valuesOf(isCompleted: boolean): Promise<Record<string, string>> {
  const workflow = await startWorkflow(service, { user_email: `${randomUUID()}@example.com` });
  const link = await mail.linkFor(workflow.id);
  const stopLink = mail.mails.find(({ links }) => links.includes(link))?.links.at(-1) ?? '';
  const outputHash = randomHash();
  await stampOutput(service, workflow, { output_hash: outputHash });
  if (isCompleted) await completeWorkflow(service, workflow);
  const sealed = await stampAgent(service, 'sealed', { content_b64: 'aGVsbG8=' });
  return {
    SERVICE_TOKEN: serviceToken,
    WORKFLOW_ID: workflow.id,
    WORKFLOW_TOKEN: workflow.token,
    TOKEN_ID: String(sealed.body.token_id),
    SECRET: String(sealed.body.sealed_storage_url).split('/').at(-1) ?? '',
    CHALLENGE: new URL(link).searchParams.get('challenge') ?? '',
    TOKEN: stopLink.split('/').at(-1) ?? '',
    OUTPUT_HASH: outputHash,
    SHA256: '0'.repeat(64),
  };
}

const needsCompletion = /^(readClosingRecord|downloadEvidenceBundle|readEvidence)/;
/** The evidence of the stamp is fresh: no renewal is due. This service has no trusted lists. */
const refusals: Readonly<Record<string, number>> = { renewEvidence: 409, downloadTrustedList: 404 };

test.each(operations.map(({ id, command }) => [id, command] as const))(
  'the command of %s has the address of this service and a line for each of its variables, and runs',
  async (id, command) => {
    expect(command).toContain(`${service.url}/`);
    for (const [, name] of command.matchAll(/\$([A-Z0-9_]+)/g)) expect(command).toMatch(new RegExp(`^${name}=`, 'm'));
    const values = command.includes("='put ") ? await valuesOf(needsCompletion.test(id)) : {};
    // The workers report the certificates a moment after the first stamp.
    await eventually(async () => (await service.fetch('/api/v1/tsa/certchain')).ok);
    const { statuses, output } = await run(filled(command, values));
    expect(statuses.length, output).toBeGreaterThan(0);
    const bad = statuses.filter((status) => status >= 400 || status < 200);
    expect(bad, output).toEqual(id in refusals ? [refusals[id]] : []);
  },
);

test('there is a command for every operation', async () => {
  const { paths } = (await (await service.fetch('/openapi.json')).json()) as { paths: Record<string, object> };
  expect(operations).toHaveLength(Object.values(paths).flatMap((methods) => Object.keys(methods)).length);
});

test('the commands of the guide run, and show what their section says', async () => {
  const [firstSteps = '', authentication = '', idempotency = '', limits = '', errors = ''] = commandsIn(guideHtml);
  expect((await run(firstSteps)).output).toContain('"valid":true');
  expect((await run(authentication)).statuses).toEqual([401]);
  await stampInternal(service, { hash: randomHash() });
  expect((await run(filled(authentication, { SERVICE_TOKEN: serviceToken }))).output).toMatch(/"total":\d/);
  expect((await run(idempotency)).output).toMatch(/idempotent-replayed: true/i);
  expect((await run(limits)).output).toMatch(/ratelimit-remaining: \d/i);
  expect(await run(errors)).toMatchObject({ statuses: [422], output: expect.stringContaining('"loc"') });
});

test('quotes a body so that the shell does not change it', async () => {
  const json = { title: `it's "$HOME" \\ \`date\`` };
  const command = curlOf({ method: 'POST', address: `${service.url}/x`, json }).replace(/^curl/, 'printf "%s\\n"');
  expect((await run(command)).output).toContain(`\n${JSON.stringify(json)}\n`);
});
