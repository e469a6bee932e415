import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { axeFindings } from '../support/axe.ts';
import { launchChromium } from '../support/chromium.ts';
import { type Service, serviceToken, startService } from '../support/service.ts';

let service: Service;
let browser: Browser;
beforeAll(async () => {
  [service, browser] = await Promise.all([startService({ keep: true }), launchChromium()]);
});
afterAll(async () => {
  await browser?.close();
  await service?.stop();
});

/** Opens an operation of the documents, lets `use` work with it, and returns what the browser complained about. */
async function visit(operation: string, use: (page: Page) => Promise<void>): Promise<string[]> {
  const page = await browser.newPage();
  const complaints: string[] = [];
  page.on('console', (message) => complaints.push(message.text()));
  page.on('pageerror', (error) => complaints.push(error.message));
  try {
    await page.goto(`${service.url}/docs#${operation}`);
    await use(page);
  } finally {
    await page.close();
  }
  return complaints;
}

const answerOf = (page: Page, operation: string) => page.locator(`#${operation} output pre`).innerText();

test('/docs shows every operation of /openapi.json', async () => {
  const document = (await (await service.fetch('/openapi.json')).json()) as {
    paths: Record<string, Record<string, { operationId: string }>>;
  };
  const ids = Object.values(document.paths).flatMap((methods) => Object.values(methods).map(({ operationId }) => operationId));
  const html = await (await service.fetch('/docs')).text();
  for (const id of ids) expect(html).toContain(`id="${id}"`);
  // Descriptions are CommonMark whose marks a person does not see.
  expect(html).toContain('<code>X-Service-Token</code>');
  expect(html).not.toContain('`');
});

test('a person tries it: a stamp without a token, under the strict policy of all pages', async () => {
  const operation = 'stampAgentBasic';
  const complaints = await visit(operation, async (page) => {
    await page.click(`#${operation} button`);
    await page.waitForSelector(`#${operation} output pre`);
    const answer = await answerOf(page, operation);
    expect(answer).toMatch(/^201 Created/);
    expect(answer).toContain('"tsp_provider": "mock"');
  });
  expect(complaints).toEqual([]);
});

test('a person tries it: with a token, a parameter of the query, and what is refused is shown too', async () => {
  const operation = 'listStamps';
  await visit(operation, async (page) => {
    for (const [field, value, status] of [
      ['limit', '0', 401],
      ['token', serviceToken, 422],
      ['limit', '1', 200],
    ] as const) {
      await page.fill(`#${operation}-${field}`, value);
      await page.click(`#${operation} button`);
      await page.locator(`#${operation} output pre`, { hasText: new RegExp(`^${status} `) }).waitFor();
    }
    expect(await answerOf(page, operation)).toContain('"total": 0');
  });
});

test('axe finds nothing, in light and on a dark phone', async () => {
  await visit('startWorkflow', async (page) => {
    expect(await axeFindings(page)).toEqual([]);
    await page.emulateMedia({ colorScheme: 'dark' });
    await page.setViewportSize({ width: 390, height: 844 });
    expect(await axeFindings(page)).toEqual([]);
    expect(await page.evaluate('document.documentElement.scrollWidth - innerWidth')).toBe(0);
  });
}, 60_000);
