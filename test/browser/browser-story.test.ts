import { expect, test } from 'vitest';
import { axeFindings } from '../support/axe.ts';
import { openPage } from '../support/chromium.ts';
import { mimetype, zipOf } from '../support/containers.ts';
import { startMailServer } from '../support/mail.ts';
import { sha256 } from '../support/requests.ts';
import { openParts } from '../support/sample-pages.ts';
import { startService } from '../support/service.ts';
import { providersSettings, startTsa } from '../support/tsa-service.ts';
import { completeWorkflow, readPage, stampOutput, startWorkflow } from '../support/workflows.ts';

test('start, open the mailed link, stamp, complete, view the page, drop a file and a container', async () => {
  const mail = await startMailServer();
  const tsa = await startTsa();
  const service = await startService({
    settings: { ...providersSettings([{ tsa, qualified: true }]), SMTP_URL: mail.url, MAIL_FROM: 'qstamp <no-reply@qstamp.example>' },
  });
  const page = await openPage();
  const complaints: string[] = [];
  page.on('console', (message) => message.type() === 'error' && complaints.push(message.text()));
  page.on('request', (request) => !request.url().startsWith(service.url) && complaints.push(`foreign request ${request.url()}`));

  const workflow = await startWorkflow(service, { tier: 'qualified' });
  await page.goto(await mail.linkFor(workflow.id));
  expect(await page.textContent('main')).toContain('the link was opened');
  expect(await axeFindings(page)).toEqual([]);

  const contents = [1, 2, 3].map((number) => Buffer.from(`output ${number}\n`));
  const stampIds: unknown[] = [];
  for (const content of contents) {
    const { status, body } = await stampOutput(service, workflow, { output_hash: sha256(content) });
    expect(status, JSON.stringify(body)).toBe(201);
    stampIds.push(body.stamp_token_id);
  }
  expect((await completeWorkflow(service, workflow)).status).toBe(200);

  await readPage(service, `/workflow/${workflow.id}`);
  await page.goto(`${service.url}/workflow/${workflow.id}`);
  const text = (await page.textContent('main')) ?? '';
  expect(text).toContain('Record closed');
  expect(text).not.toContain('Not qualified');
  for (const number of [1, 2, 3]) expect(await page.locator(`#output-${number}`).count()).toBe(1);
  await page.locator('#in-browser-proof[data-state=proved]').waitFor({ state: 'attached' });
  expect(await page.innerText('main')).toContain('Your browser recomputed it too, with the same result');
  // Once loaded, it sends no more requests.
  await page.context().setOffline(true);
  await page.setInputFiles('#file', [
    { name: 'second.txt', mimeType: 'text/plain', buffer: contents[1]! },
    { name: 'stranger.txt', mimeType: 'text/plain', buffer: Buffer.from('never stamped') },
  ]);
  await page.getByText('Yes: second.txt is unchanged since').waitFor();
  await openParts(page);
  await page.getByText('Its leaf and a path of 2 hashes lead to the root').waitFor();
  await page.getByText(/No: stranger\.txt is not in this record/).waitFor();
  await page.context().setOffline(false);
  expect(await axeFindings(page)).toEqual([]);

  const token = await fetch(`${service.url}/api/v1/verify/v1/token/${stampIds[0]}/token`);
  const proof = { name: 'META-INF/timestamp.tst', content: Buffer.from(await token.arrayBuffer()) };
  const container = await zipOf([mimetype, { name: 'first.txt', content: contents[0]! }, proof]);
  await page.goto(`${service.url}/verify`);
  await page.setInputFiles('#file', { name: 'first.txt.asics', mimeType: 'application/zip', buffer: container });
  await page.getByText('Yes: first.txt is unchanged since').waitFor();
  await page.getByRole('heading', { name: 'This stamp is valid' }).waitFor();
  expect(await axeFindings(page)).toEqual([]);
  expect(complaints).toEqual([]);
});
