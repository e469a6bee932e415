import { expect, test } from 'vitest';
import { axeFindings } from '../support/axe.ts';
import { openPage } from '../support/chromium.ts';
import { serviceToken, sharedService } from '../support/service.ts';

test('/docs: an operation can be tried under the strict policy of all pages, and axe finds no fault', async () => {
  const [service, page] = await Promise.all([sharedService(), openPage()]);
  const complaints: string[] = [];
  page.on('console', (message) => complaints.push(message.text()));
  page.on('pageerror', (error) => complaints.push(error.message));

  await page.goto(`${service.url}/docs#listStamps`);
  // On a wide screen the list of parts stays in view at the side.
  await page.locator('nav .parts a', { hasText: 'Workflow' }).click();
  await page.locator('#workflow').waitFor();
  expect(await page.locator('nav .parts a', { hasText: 'First steps' }).isVisible()).toBe(true);
  await page.goto(`${service.url}/docs#listStamps`);
  const command = page.locator('#listStamps .command');
  expect(await command.getAttribute('data-copy')).toContain(`curl ${service.url}/api/v1/internal/v1/stamps`);
  expect(await command.getByRole('button', { name: 'Copy' }).isVisible()).toBe(true);
  await page.fill('#listStamps-token', serviceToken);
  await page.fill('#listStamps-limit', '1');
  await page.click('#listStamps .try button');
  await page.locator('#listStamps output pre', { hasText: /^200 [\s\S]*"total": \d/ }).waitFor();
  expect(complaints).toEqual([]);

  expect(await axeFindings(page)).toEqual([]);
  await page.emulateMedia({ colorScheme: 'dark' });
  await page.setViewportSize({ width: 390, height: 844 });
  expect(await page.locator('nav .parts a', { hasText: 'First steps' }).isVisible()).toBe(false);
  await page.click('nav .parts summary');
  expect(await page.locator('nav .parts a', { hasText: 'First steps' }).isVisible()).toBe(true);
  expect(await axeFindings(page)).toEqual([]);
  expect(await page.evaluate('document.documentElement.scrollWidth - innerWidth')).toBe(0);
});
