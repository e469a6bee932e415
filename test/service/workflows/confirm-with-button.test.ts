import { expect, test } from 'vitest';
import { collectionOf, openDatabase } from '../../support/database.ts';
import { mailedService } from '../../support/mailed-service.ts';
import { eventually, type JsonObject } from '../../support/requests.ts';
import type { RunningService } from '../../support/service.ts';
import { openLink, readPage, redactWorkflow, startWorkflow } from '../../support/workflows.ts';

const { mail, service } = await mailedService({ CONFIRM_WITH: 'button', TRUST_PROXY: '127.0.0.1' });

async function startWithLink(overrides: JsonObject = {}) {
  const workflow = await startWorkflow(service, { tier: 'verified', ...overrides });
  const link = await mail.linkFor(workflow.id);
  return { workflow, link, wrong: `${link.slice(0, -1)}${link.endsWith('A') ? 'B' : 'A'}` };
}

const storedIn = async (at: Pick<RunningService, 'settings'>, id: string) =>
  collectionOf(await openDatabase(at), 'workflows').findOne({ _id: id });

/** Presses the button: as a browser's form does, or like a program. */
const press = (link: string, headers: Record<string, string> = {}) =>
  fetch(link, { method: 'POST', headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers }, body: '' });
const json = { accept: 'application/json' };

test('W6: opening the link changes nothing, however often; pressing the button confirms once', async () => {
  const { workflow, link } = await startWithLink();
  const mailed = mail.mails.find(({ links }) => links.includes(link));
  expect(mailed?.parsed.text?.replace(/\s+/g, ' ')).toContain('open this link, and press the button on its page');
  // The mail is recorded as sent after it was sent.
  const before = await eventually(async () => {
    const stored = await storedIn(service, workflow.id);
    return JSON.stringify(stored).includes('sentAt') && stored;
  });
  for (let count = 0; count < 7; count += 1) {
    const page = await fetch(link, { headers: { accept: 'application/xhtml+xml' } });
    expect([page.status, page.headers.get('cache-control'), page.headers.get('referrer-policy')]).toEqual([200, 'no-store', 'no-referrer']);
    expect(await page.text()).toContain('<form method="post"><button class="button">Confirm my address</button></form>');
    expect(await openLink(link)).toMatchObject({ status: 200, body: { workflow_id: workflow.id, status: 'pending' } });
  }
  expect(await storedIn(service, workflow.id)).toEqual(before);
  expect(await readPage(service, `/workflow/${workflow.id}`)).toContain('Not confirmed; ');

  const answers = await Promise.all(Array.from({ length: 5 }, () => press(link, { ...json, origin: service.url })));
  expect(answers.map(({ status }) => status).sort()).toEqual([200, 410, 410, 410, 410]);
  const confirmed = answers.find(({ status }) => status === 200);
  expect(await confirmed?.json()).toEqual({ workflow_id: workflow.id, status: 'active' });
  expect(await storedIn(service, workflow.id)).toMatchObject({ status: 'active', confirmedWith: 'button' });
  expect(await openLink(link)).toMatchObject({ status: 410, body: { reason: 'challenge_used' } });
  expect(await readPage(service, `/workflow/${workflow.id}`)).toContain('Confirmed with the button');
});

test('W6, W26: the button gets a page; only pages of the right link name the agent and the public title, if safe to quote', async () => {
  const accept = 'application/xhtml+xml';
  const textOf = async (link: string) => (await fetch(link, { headers: { accept } })).text();
  const { link, wrong } = await startWithLink({ agent_id: 'Cover Artist', briefing_metadata: { title: 'Autumn issue', public: true } });
  const names = /calls itself “Cover Artist”.*the task “Autumn issue”/s;
  expect(await textOf(link)).toMatch(names);
  expect(await textOf(wrong)).not.toMatch(/Cover Artist|Autumn issue/);
  // The form of the page gets a page, also from a browser that hides its origin, as in a webmail window.
  const confirmed = await press(link, { accept, origin: 'null' });
  const { status, headers } = confirmed;
  const page = [200, 'text/html; charset=utf-8', 'no-referrer'];
  expect([status, headers.get('content-type'), headers.get('referrer-policy')]).toEqual(page);
  const thanks = await confirmed.text();
  expect([thanks, thanks]).toEqual([expect.stringMatching(names), expect.stringContaining('the button was pressed')]);
  expect(await (await press(link, { accept })).text()).toContain('If you pressed its button, all is well');
  const unsafe = await startWithLink({ agent_id: 'pay at evil.example', briefing_metadata: { title: 'Not public' } });
  const unnamed = await textOf(unsafe.link);
  expect(unnamed).toContain('An AI agent records its work for you');
  expect(unnamed).not.toMatch(/evil|Not public/);
});

test('W6: wrong tries count when the button is pressed, and opening a wrong link counts none', async () => {
  const { link, wrong } = await startWithLink();
  const from = (address: string) => ({ ...json, 'x-forwarded-for': address });
  for (let count = 0; count < 7; count += 1) {
    expect(await openLink(wrong)).toMatchObject({ status: 403, body: { reason: 'challenge_wrong', tries_left: 5 } });
  }
  for (let count = 0; count < 5; count += 1) expect((await press(wrong, from('192.0.2.1'))).status).toBe(403);
  expect(await openLink(link, from('192.0.2.1'))).toMatchObject({ status: 410, body: { reason: 'challenge_exhausted' } });
  expect(await openLink(link, from('192.0.2.2'))).toMatchObject({ status: 200, body: { status: 'pending' } });
});

test('W7: a link of a redacted, unknown or expired workflow is refused when it is opened', async () => {
  const { workflow, link } = await startWithLink();
  const workflows = collectionOf(await openDatabase(service), 'workflows');
  await workflows.updateOne({ _id: workflow.id }, { $set: { 'challenge.expiresAt': new Date(Date.now() - 1) } });
  expect(await openLink(link)).toMatchObject({ status: 410, body: { reason: 'challenge_expired' } });
  await redactWorkflow(service, workflow);
  expect(await openLink(link)).toMatchObject({ status: 410, body: { reason: 'email_redacted' } });
  const unknown = link.replace(workflow.id, '01890a5d-ac96-774b-bcce-b302099a8057');
  expect([(await openLink(unknown)).status, (await press(unknown, json)).status]).toEqual([404, 404]);
});

test('W6: by default opening the link confirms, and a POST confirms too; pages say which it was', async () => {
  const other = await mailedService();
  const [first, second] = [await startWorkflow(other.service), await startWorkflow(other.service)];
  expect((await openLink(await other.mail.linkFor(first.id))).body).toEqual({ workflow_id: first.id, status: 'active' });
  expect(await storedIn(other.service, first.id)).toMatchObject({ confirmedWith: 'link' });
  expect(await readPage(other.service, `/workflow/${first.id}`)).toContain('Confirmed by opening the link');
  expect((await press(await other.mail.linkFor(second.id), json)).status).toBe(200);
  expect(await readPage(other.service, `/workflow/${second.id}`)).toContain('Confirmed with the button');
});
