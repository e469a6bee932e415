import { expect, test } from 'vitest';
import { openProfile } from '../support/chromium.ts';
import { mailedService } from '../support/mailed-service.ts';
import { getJson } from '../support/requests.ts';
import { startWorkflow } from '../support/workflows.ts';

test('W6: without scripts, a browser opens the link, and its button confirms', async () => {
  const { mail, service } = await mailedService({ CONFIRM_WITH: 'button' });
  const workflow = await startWorkflow(service);
  const link = await mail.linkFor(workflow.id);
  const page = await (await openProfile({ javaScriptEnabled: false })).newPage();
  const sent: { url: string; referer: string | undefined }[] = [];
  page.on('request', (request) => sent.push({ url: request.url(), referer: request.headers().referer }));
  await page.goto(link);
  expect(await page.textContent('h1')).toBe('Please confirm your e-mail address');
  const stateOf = async () => (await getJson(service, `/api/v1/workflow/${workflow.id}`)).body.status;
  expect(await stateOf()).toBe('pending');
  await page.click('button');
  expect(await page.textContent('h1')).toBe('Thank you, the button was pressed');
  expect(await stateOf()).toBe('active');
  // No other request carries the challenge.
  expect(sent.filter(({ referer }) => referer?.includes('challenge'))).toEqual([]);
});
