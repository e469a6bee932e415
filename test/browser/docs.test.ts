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
  await page.fill('#listStamps-token', serviceToken);
  await page.fill('#listStamps-limit', '1');
  await page.click('#listStamps button');
  await page.locator('#listStamps output pre', { hasText: /^200 [\s\S]*"total": \d/ }).waitFor();
  expect(complaints).toEqual([]);

  expect(await axeFindings(page)).toEqual([]);
  await page.emulateMedia({ colorScheme: 'dark' });
  await page.setViewportSize({ width: 390, height: 844 });
  expect(await axeFindings(page)).toEqual([]);
  expect(await page.evaluate('document.documentElement.scrollWidth - innerWidth')).toBe(0);
}, 60_000);
