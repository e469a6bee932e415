import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { launchChromium } from '../support/chromium.ts';
import { startMailServer } from '../support/mail.ts';
import { sha256 } from '../support/requests.ts';
import { startService } from '../support/service.ts';
import { completeWorkflow, stampOutput, startWorkflow } from '../support/workflows.ts';

let browser: Browser;
beforeAll(async () => {
  browser = await launchChromium();
});
afterAll(() => browser.close());

test('a person opens the link of the mail, sees the workflow, and compares files with it in the browser', async () => {
  const mail = await startMailServer();
  const service = await startService({ settings: { SMTP_URL: mail.url } });
  const workflow = await startWorkflow(service, { tier: 'verified', user_email: 'reader@example.com' });

  const context = await browser.newContext();
  const page = await context.newPage();
  const faults: string[] = [];
  page.on('console', (message) => void (message.type() === 'error' && faults.push(message.text())));
  page.on('pageerror', (error) => void faults.push(error.message));
  await page.goto(await mail.linkFor(workflow.id));
  expect(await page.textContent('h1')).toBe('Thank you, your address is confirmed');

  const files = ['first', 'second'].map((content) => ({ name: `${content}.txt`, mimeType: 'text/plain', buffer: Buffer.from(content) }));
  for (const { buffer } of files) expect((await stampOutput(service, workflow, { output_hash: sha256(buffer) })).status).toBe(201);
  expect((await completeWorkflow(service, workflow)).status).toBe(200);

  await page.getByText('See the workflow').click();
  await page.waitForSelector('#output-2');
  expect(await page.textContent('.state')).toContain('Completed');
  expect(await page.textContent('.email')).toBe('r•••@example.com');
  const stranger = { name: 'other.txt', mimeType: 'text/plain', buffer: Buffer.from('never stamped') };
  await page.setInputFiles('#file', [...files, stranger]);
  await page.waitForFunction("document.querySelectorAll('.results li').length === 3");
  const results = await page.locator('.results li').allTextContents();
  expect(results.find((text) => text.includes('first.txt'))).toMatch(/match.*output 1/i);
  expect(results.find((text) => text.includes('second.txt'))).toMatch(/match.*output 2/i);
  expect(results.find((text) => text.includes('other.txt'))).toMatch(/no match/i);
  expect(faults).toEqual([]);
  await context.close();
}, 60_000);
