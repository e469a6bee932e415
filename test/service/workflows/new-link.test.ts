import { expect, test } from 'vitest';
import { collectionOf, openDatabase } from '../../support/database.ts';
import { mailedService } from '../../support/mailed-service.ts';
import { mainText } from '../../support/page-text.ts';
import { eventually } from '../../support/requests.ts';
import { openLink, readPage, startWorkflow } from '../../support/workflows.ts';

const { mail, service } = await mailedService();

const mailsOf = (id: string) => mail.mails.filter(({ links }) => links.some((link) => link.includes(`/c/${id}/`)));

/** The links mailed for a workflow, once there are this many. */
const untilMailed = async (id: string, count: number): Promise<string[]> => {
  const mails = await eventually(async () => mailsOf(id).length >= count && mailsOf(id));
  return mails.map(({ links }) => links.find((link) => link.includes('/c/')) ?? '');
};

/** Presses a button of a page, as a browser without JavaScript does. Returns the status and the page. */
async function press(address: string): Promise<[number, string]> {
  const headers = { accept: 'application/xhtml+xml', 'content-type': 'application/x-www-form-urlencoded' };
  const page = await service.fetch(address, { method: 'POST', headers, body: '' });
  return [page.status, mainText(await page.text())];
}

const open = async (address: string): Promise<string> => {
  const page = await fetch(address, { headers: { accept: 'application/xhtml+xml' } });
  return page.text();
};

/** The address behind the button *Send me a new link* of a page; undefined if the page has no such button. */
const newLinkOf = (html: string): string | undefined =>
  /<form method="post" action="([^"]+)"><button class="button">Send me a new link/.exec(html)?.[1];

test('W6: behind an expired link a button mails a new one to the stored address, and so does the page of the workflow', async () => {
  const workflow = await startWorkflow(service, { user_email: 'jane@client.example', tier: 'verified' });
  const [first = ''] = await untilMailed(workflow.id, 1);
  const page = `/workflow/${workflow.id}`;
  const expire = async () => {
    const workflows = collectionOf(await openDatabase(service), 'workflows');
    const changed = { $set: { 'challenge.expiresAt': new Date(Date.now() - 1) } };
    return eventually(async () => {
      const { matchedCount } = await workflows.updateOne({ _id: workflow.id, 'mail.sentAt': { $exists: true } }, changed);
      return matchedCount === 1;
    });
  };
  // While the link works, a stranger cannot end it.
  expect(newLinkOf(await readPage(service, page))).toBeUndefined();
  expect(await press(`${page}/new-link`)).toEqual([409, expect.stringContaining('only after the old one has expired')]);

  await expire();
  const expired = await open(first);
  expect(expired).toContain('This link has expired');
  const [status, text] = await press(newLinkOf(expired) ?? '');
  expect([status, text]).toEqual([202, expect.stringContaining('We mail it to j•••@client.example')]);
  expect(text).not.toContain('jane');
  await untilMailed(workflow.id, 2);
  expect(
    mail.mails.filter(({ links }) => links.some((link) => link.includes(workflow.id))).flatMap(({ recipients }) => recipients),
  ).toEqual(['jane@client.example', 'jane@client.example']);

  // Who has an old link of the mail may ask again, before the newer link expires.
  const replaced = await open(first);
  expect(replaced).toContain('A newer link was sent');
  expect((await press(newLinkOf(replaced) ?? ''))[0]).toBe(202);
  await untilMailed(workflow.id, 3);
  await expire();
  const pending = await eventually(async () => newLinkOf(await readPage(service, page)));
  expect((await press(pending))[0]).toBe(202);
  const [, , , last = ''] = await untilMailed(workflow.id, 4);
  // The limit of resends: three an hour.
  expect(await press(newLinkOf(await open(first)) ?? '')).toEqual([429, expect.stringContaining('No more links for now')]);
  expect(await openLink(last)).toMatchObject({ status: 200, body: { status: 'active' } });
  expect(newLinkOf(await open(first))).toBeUndefined();
  expect(await press(`${page}/new-link?challenge=${first.split('/').at(-1)}`)).toEqual([409, expect.stringContaining('already confirmed')]);
});
