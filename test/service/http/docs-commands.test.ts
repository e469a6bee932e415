import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { runToEnd } from '../../../scripts/stack/run.ts';
import { curlOf } from '../../../src/api/docs/curl.ts';
import { mailedService } from '../../support/mailed-service.ts';
import { eventually, randomHash, stampAgent, stampInternal } from '../../support/requests.ts';
import { serviceToken, startService } from '../../support/service.ts';
import { providersSettings, startTsa } from '../../support/tsa-service.ts';
import { completeWorkflow, stampOutput, startWorkflow } from '../../support/workflows.ts';

/** The commands on `/docs`, run in a shell against the service that shows them. */
const { mail, service } = await mailedService({ RATE_AGENT_PER_MINUTE: '600' });
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

/** Only a real provider makes tokens and evidence; this service has the mock provider. */
const needsTokens =
  /^(download(TimeStamp|Evidence(?!Bundle)|SealedContainer|Cose)|renew|readTsaCertificates|readSigstoreCertificates|stampQuery|stampSigstore)/;
/** This service has no trusted lists either. */
const needsMore = new RegExp(`${needsTokens.source}|^downloadTrustedList$`);
const needsCompletion = /^(readClosingRecord|downloadEvidenceBundle|readEvidence)/;

test('every operation has a command with the address of this service, and a line for each of its variables', () => {
  expect(operations.length).toBeGreaterThan(50);
  for (const { id, command } of operations) {
    expect(command, id).toContain(`${service.url}/`);
    for (const [, name] of command.matchAll(/\$([A-Z0-9_]+)/g)) expect(command, id).toMatch(new RegExp(`^${name}=`, 'm'));
  }
});

test.each(operations.map(({ id, command }) => [id, command] as const))(
  'the command of %s runs',
  async (id, command) => {
    const values = command.includes("='put ") ? await valuesOf(needsCompletion.test(id)) : {};
    const { statuses, output } = await run(filled(command, values));
    const isGood = (status: number) => (status >= 200 && status < 400) || (needsMore.test(id) && [404, 503].includes(status));
    expect(statuses.length, output).toBeGreaterThan(0);
    expect(
      statuses.filter((status) => !isGood(status)),
      output,
    ).toEqual([]);
  },
  30_000,
);

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

test('the commands that need tokens of a provider run too, with a time-stamping authority', async () => {
  const door = await startService({ settings: providersSettings([{ tsa: await startTsa() }]) });
  const sealed = await stampAgent(door, 'sealed', { content_b64: 'aGVsbG8=' });
  const values = { TOKEN_ID: String(sealed.body.token_id), SECRET: String(sealed.body.sealed_storage_url).split('/').at(-1) ?? '' };
  const bad: Record<string, number[]> = {};
  // The workers report the certificates a moment after the first stamp.
  await eventually(async () => (await door.fetch('/api/v1/tsa/certchain')).ok, 10_000);
  for (const { id, command } of operations.filter((one) => needsTokens.test(one.id))) {
    const { statuses } = await run(filled(command.replaceAll(service.url, door.url), values));
    const isFine = statuses.length > 0 && statuses.every((status) => status < 300);
    if (!isFine) bad[id] = statuses;
  }
  // The evidence of this stamp is fresh: 409 says that no renewal is due.
  expect(bad).toEqual({ renewEvidence: [200, 409] });
}, 60_000);
