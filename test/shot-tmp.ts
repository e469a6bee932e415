import { chromium } from 'playwright-core';
import { createViewEngine } from '../src/shared/views/engine.ts';
import { buildCompletionMessage, buildOtpMessage } from '../src/workers/workflows/message.ts';
import { createPageServer } from './support/page-server.ts';

const id = '01995f3a-7c1e-7d0b-9a52-3f2b8c6d4e10';
const base = {
  from: 'q <a@stamps.example>',
  to: 'j@example.com',
  workflowId: id,
  agentId: 'Cover Artist 2.1',
  operator: { name: 'Acme Stamps', url: 'https://acme.example', contact: 'help@acme.example' },
  stopLink: 'https://stamps.example/mail/stop/token',
  messageKey: 'x',
} as const;
const engine = createViewEngine();
const page1 = `https://stamps.example/workflow/${id}`;
const completion = buildCompletionMessage(engine, {
  ...base,
  title: 'Cover for the autumn issue',
  outputCount: 3,
  completedAt: '2026-11-24T11:12:05.123Z',
  isTest: true,
  pageLink: page1,
  bundleLink: `${page1}/evidence.zip`,
});
const otp = buildOtpMessage(engine, {
  ...base,
  link: `https://stamps.example/api/v1/workflow/${id}/verify-user?challenge=Zm9v`,
  confirmWith: 'button',
  validUntil: '2026-11-21T12:16:07Z',
  validMinutes: 30,
});
console.log(`${completion.text}\n=======\n${otp.text}`);
const app = await createPageServer();
const url = await app.listen({ port: 0 });
const browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args: ['--no-sandbox'] });
const paths = process.argv.slice(2);
for (const [width, scheme] of [
  [390, 'light'],
  [1280, 'dark'],
  [390, 'dark'],
  [1280, 'light'],
] as const) {
  const page = await browser.newPage({ viewport: { width, height: 900 }, colorScheme: scheme });
  for (const [name, html] of [
    ['completion', completion.html],
    ['otp', otp.html],
  ] as const) {
    if (paths.length > 0) continue;
    await page.setContent(html);
    await page.screenshot({ path: `/tmp/wtmail-shots/mail-${name}-${width}-${scheme}.png`, fullPage: true });
  }
  for (const path of paths) {
    await page.goto(url + path);
    await page.screenshot({ path: `/tmp/wtmail-shots/${path.replaceAll('/', '_')}-${width}-${scheme}.png`, fullPage: true });
  }
  await page.close();
}
await browser.close();
await app.close();
