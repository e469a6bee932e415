import { expect, test } from 'vitest';
import { collectionOf, openDatabase } from '../../support/database.ts';
import { mailedService } from '../../support/mailed-service.ts';
import { eventually } from '../../support/requests.ts';
import { readPage, startWorkflow } from '../../support/workflows.ts';

const { mail, service } = await mailedService();

const mailsOf = (id: string) => mail.mails.filter(({ links }) => links.some((link) => link.includes(`/c/${id}/`)));

/** The links mailed for a workflow, once there are this many. */
const untilMailed = async (id: string, count: number): Promise<string[]> => {
  const mails = await eventually(async () => mailsOf(id).length >= count && mailsOf(id));
  return mails.map(({ links }) => links.find((link) => link.includes('/c/')) ?? '');
};

/** Presses a button of a page, as a browser without JavaScript does. Returns the status, and where the answer leads. */
async function press(address: string): Promise<[number, string | null]> {
  const headers = { accept: 'application/xhtml+xml', 'content-type': 'application/x-www-form-urlencoded' };
  const page = await service.fetch(address, { method: 'POST', headers, body: '', redirect: 'manual' });
  return [page.status, page.headers.get('location')];
}

const open = async (address: string): Promise<string> => {
  const page = await fetch(address, { headers: { accept: 'application/xhtml+xml' } });
  return page.text();
};

/** The address behind the button *Send me a new link* of a page; undefined if the page has no such button. */
const newLinkOf = (html: string): string | undefined =>
  /<form method="post" action="([^"]+)"><button class="button">Send me a new link/.exec(html)?.[1];

test('W6: a button behind an expired link, and on the page of a workflow that waits, mails a new link to the stored address', async () => {
  const workflow = await startWorkflow(service, { user_email: 'jane@client.example', tier: 'verified' });
  const [first = ''] = await untilMailed(workflow.id, 1);
  const page = `/workflow/${workflow.id}`;
  const workflows = collectionOf(await openDatabase(service), 'workflows');
  const change = ($set: Record<string, Date>) =>
    eventually(
      async () => (await workflows.updateOne({ _id: workflow.id, 'mail.sentAt': { $exists: true } }, { $set })).matchedCount === 1,
    );
  const expire = () => change({ 'challenge.expiresAt': new Date(Date.now() - 1) });
  // A stranger cannot end a link that was just mailed.
  expect(newLinkOf(await readPage(service, page))).toBeUndefined();
  expect(await press(`${page}/new-link`)).toEqual([303, page]);

  await expire();
  const expired = await open(first);
  expect(expired).toContain('This link has expired');
  const button = newLinkOf(expired) ?? '';
  expect(newLinkOf(await readPage(service, page))).toBe(button);
  // A second press mails nothing more.
  expect([await press(button), await press(button)]).toEqual([
    [303, page],
    [303, page],
  ]);
  const shown = await readPage(service, page);
  expect(shown).toContain('j•••@client.example');
  expect(shown).not.toContain('jane');
  await untilMailed(workflow.id, 2);
  expect(await open(first)).toContain('A newer link was sent');

  // The client may have lost the mail.
  await change({ 'mail.sentAt': new Date(Date.now() - 600_001) });
  expect(newLinkOf(await readPage(service, page))).toBe(button);
  await press(button);
  await untilMailed(workflow.id, 3);

  await expire();
  await press(button);
  await untilMailed(workflow.id, 4);
  // The limit of resends: three an hour.
  await expire();
  expect((await press(button))[0]).toBe(429);
  expect(mailsOf(workflow.id).map(({ recipients }) => recipients)).toEqual(Array(4).fill(['jane@client.example']));
});

test('W6: no link outlives its workflow', async () => {
  const workflow = await startWorkflow(service, { user_email: 'jane@client.example' });
  await untilMailed(workflow.id, 1);
  const workflows = collectionOf(await openDatabase(service), 'workflows');
  const soon = new Date(Date.now() + 60_000);
  await workflows.updateOne({ _id: workflow.id }, { $set: { expiresAt: soon } });
  await service.fetch(`/api/v1/workflow/${workflow.id}/resend`, { method: 'POST', headers: workflow.headers });
  await untilMailed(workflow.id, 2);
  expect(await workflows.findOne({ _id: workflow.id })).toMatchObject({ challenge: { expiresAt: soon } });
});
