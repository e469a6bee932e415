import { randomUUID } from 'node:crypto';
import { buffer } from 'node:stream/consumers';
import type { Locator, Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { axeFindings } from '../support/axe.ts';
import { openPage } from '../support/chromium.ts';
import { checkByContract } from '../support/contract-check.ts';
import { isLong } from '../support/depth.ts';
import { mailedService } from '../support/mailed-service.ts';
import { randomHash, stampAgent } from '../support/requests.ts';
import { serviceToken } from '../support/service.ts';
import { providersSettings, startTsa } from '../support/tsa-service.ts';
import { completeWorkflow, type StartedWorkflow, stampOutput, startWorkflow } from '../support/workflows.ts';

interface Operation {
  readonly method: string;
  readonly operationId: string;
  readonly tags: readonly string[];
  readonly security: readonly object[];
  readonly parameters?: readonly { readonly in: string }[];
  readonly requestBody?: { readonly content: object };
  readonly responses: Readonly<Record<string, { readonly content?: object }>>;
}

// The runner ends its TSA.
const onEnd = () => undefined;
const providers = providersSettings([{ tsa: await startTsa({ onEnd }) }], onEnd);
const { mail, service } = await mailedService({ RATE_AGENT_PER_MINUTE: '600', ...providers });

const isText = (type: string) => /json|text|pem|xml/.test(type);

/** Everything that Swagger UI handles differently: the token, the parameters, the body, and the answer. */
const traitsOf = ({ security, parameters = [], requestBody, responses }: Operation) => [
  ...security.flatMap(Object.keys),
  ...parameters.map((parameter) => parameter.in),
  ...Object.keys(requestBody?.content ?? {}),
  ...Object.entries(responses).flatMap(([status, { content = {} }]) =>
    status.startsWith('2') ? Object.keys(content).map((type) => (isText(type) ? 'text' : 'file')) : [],
  ),
];

/** In a long run all operations, by their tags, and otherwise one operation for each trait. */
async function operationsToTry(): Promise<(readonly [name: string, operations: readonly Operation[]])[]> {
  const { paths } = (await (await service.fetch('/openapi.json')).json()) as { paths: Record<string, Record<string, Operation>> };
  const all = Object.values(paths).flatMap((methods) => Object.entries(methods).map(([method, operation]) => ({ ...operation, method })));
  // The answer of the others is a redirect, which the browser follows by itself.
  const answering = all.filter(({ responses }) => Object.keys(responses).some((status) => status.startsWith('2')));
  if (isLong) return [...Map.groupBy(answering, ({ tags: [tag = ''] }) => tag)];
  const seen = new Set<string>();
  const differing = answering.filter((operation) => {
    const added = traitsOf(operation).filter((trait) => !seen.has(trait));
    for (const trait of added) seen.add(trait);
    return added.length > 0;
  });
  return [['one for each trait', differing]];
}

/** A completed workflow and a sealed stamp, as the values of parameters. */
async function prepare(): Promise<{ workflow: StartedWorkflow; values: Record<string, string>; file: Buffer }> {
  const workflow = await startWorkflow(service, { user_email: `${randomUUID()}@example.com` });
  const link = await mail.linkFor(workflow.id);
  const stopLink = mail.mails.find(({ links }) => links.includes(link))?.links.at(-1) ?? '';
  const output_hash = randomHash();
  await stampOutput(service, workflow, { output_hash });
  await completeWorkflow(service, workflow);
  const sealed = (await stampAgent(service, 'sealed', { content_b64: 'aGVsbG8=' })).body;
  const values = {
    workflow_id: workflow.id,
    token_id: String(sealed.token_id),
    secret: String(sealed.sealed_storage_url).split('/').at(-1) ?? '',
    challenge: link.split('/').at(-1) ?? '',
    token: stopLink.split('/').at(-1) ?? '',
    output_hash,
    sha256: '0'.repeat(64),
  };
  const query = await service.fetch(`/api/v1/verify/v1/token/${sealed.token_id}/tsq`);
  return { workflow, values, file: Buffer.from(await query.arrayBuffer()) };
}

async function authorize(page: Page, tokens: readonly string[]) {
  await page.getByRole('button', { name: 'Authorize' }).first().click();
  for (const [index, token] of tokens.entries()) {
    const scheme = page.locator('.auth-container').nth(index);
    await scheme.locator('input').fill(token);
    await scheme.getByRole('button', { name: 'Apply' }).click();
  }
  await page.locator('.modal-ux .close-modal').click();
}

async function fill(block: Locator, values: Readonly<Record<string, string>>, file: Buffer) {
  for (const [name, value] of Object.entries(values)) {
    const input = block.locator(`[data-param-name="${name}"] input, [data-property-name="${name}"] input`);
    if ((await input.count()) > 0) await input.fill(value);
  }
  const fileInput = block.locator('input[type=file]');
  if ((await fileInput.count()) > 0) await fileInput.setInputFiles({ name: 'body', mimeType: 'application/octet-stream', buffer: file });
}

/** The serious findings outside of Swagger UI, which has a second `main`. */
const seriousFindings = async (page: Page): Promise<string[]> =>
  (await axeFindings(page, { exclude: ['.swagger-ui'] })).filter((finding) => /^(serious|critical)/.test(finding));

/** A completed workflow takes nothing new, fresh evidence is not renewed, and this service has no trusted lists. */
const refused =
  /^(stampWorkflowOutputs?|resendWorkflowLink|verifyWorkflowUser|completeWorkflowVerification|openMailedLink|confirmMailedLink|renewEvidence|downloadTrustedList)$/;

const { workflow, values, file } = await prepare();

/** Opens `/docs` with both tokens. `complaints`: what the browser says, except about refusals, and requests to other servers. */
async function openDocs(): Promise<{ page: Page; complaints: string[] }> {
  const page = await openPage();
  const complaints: string[] = [];
  page.on('console', (message) => {
    if (!/^Failed to load resource: .* status of 4/.test(message.text())) complaints.push(message.text());
  });
  page.on('pageerror', (error) => complaints.push(error.message));
  page.on('request', (request) => {
    if (!/^(data|blob):/.test(request.url()) && !request.url().startsWith(service.url)) complaints.push(request.url());
  });
  await page.goto(`${service.url}/docs`);
  await authorize(page, [serviceToken, `Workflow ${workflow.token}`]);
  return { page, complaints };
}

test.each(await operationsToTry())('/docs: operations can be tried (%s), under the policy of all pages', async (_, operations) => {
  const { page, complaints } = await openDocs();
  for (const { operationId, method, tags } of operations) {
    const block = page.locator(`[id="operations-${tags[0]?.replaceAll(' ', '_')}-${operationId}"]`);
    await block.locator('.opblock-summary-control').click();
    await block.locator('.execute').waitFor();
    await fill(block, values, file);
    const answered = page.waitForResponse((response) => response.request().method() === method.toUpperCase());
    await block.locator('.execute').click();
    const response = await answered;
    const shown = block.locator('.live-responses-table');
    await shown.getByText(String(response.status()), { exact: true }).waitFor();
    const contentType = response.headers()['content-type'] ?? '';
    const body = (await response.body()).toString();
    await checkByContract(service.url, {
      method,
      path: response.url().slice(service.url.length),
      status: response.status(),
      contentType,
      body,
    });
    expect(response.status() >= 400, `${operationId}: ${response.status()} ${body}`).toBe(refused.test(operationId));
    if (!isText(contentType)) {
      const downloading = page.waitForEvent('download');
      await shown.getByText('Download file').click();
      const { length } = await buffer(await (await downloading).createReadStream());
      expect(length, operationId).toBe(Number(response.headers()['content-length'] ?? (length || 'some')));
    }
    await block.locator('.opblock-summary-control').click();
  }
  expect(complaints).toEqual([]);
  const policyOf = async (path: string) => (await service.fetch(path)).headers.get('content-security-policy');
  expect(await policyOf('/docs')).toBe(await policyOf('/'));
});

test('/docs: follows the colour scheme, and fits a phone', async () => {
  const { page, complaints } = await openDocs();
  await page.locator('html:not(.dark-mode) .opblock').first().waitFor();
  expect(await seriousFindings(page)).toEqual([]);
  await page.emulateMedia({ colorScheme: 'dark' });
  await page.setViewportSize({ width: 390, height: 844 });
  await page.locator('html.dark-mode').waitFor();
  await page.locator('[id$="-stampAgentBasic"] .opblock-summary-control').click();
  await page.locator('[id$="-stampAgentBasic"] .execute').click();
  await page.locator('.live-responses-table').waitFor();
  expect(await page.evaluate('document.documentElement.scrollWidth - innerWidth')).toBe(0);
  expect(await seriousFindings(page)).toEqual([]);
  expect(complaints).toEqual([]);
});
