import { expect, test } from 'vitest';
import { collectionOf, openDatabase } from '../../support/database.ts';
import { mailedService } from '../../support/mailed-service.ts';
import { sendExactly } from '../../support/raw-http.ts';
import { completeWorkflow, openLink, redactWorkflow, type StartedWorkflow, startWorkflow } from '../../support/workflows.ts';

const { mail, service } = await mailedService({ TRUST_PROXY: '127.0.0.1' });

const from = (address: string) => ({ accept: 'application/json', 'x-forwarded-for': address });

async function startWithLink(): Promise<{ workflow: StartedWorkflow; link: string; wrong: string }> {
  const workflow = await startWorkflow(service, { tier: 'verified' });
  const link = await mail.linkFor(workflow.id);
  return { workflow, link, wrong: `${link.slice(0, -1)}${link.endsWith('A') ? 'B' : 'A'}` };
}

/** How often each status answers a hundred clicks at once. */
async function hundredTimes(link: string): Promise<Record<number, number>> {
  const answers = await Promise.all(Array.from({ length: 100 }, () => openLink(link)));
  const counts: Record<number, number> = {};
  for (const { status } of answers) counts[status] = (counts[status] ?? 0) + 1;
  return counts;
}
const storedWorkflow = async (id: string) => collectionOf(await openDatabase(service), 'workflows').findOne({ _id: id });
const gone = (reason: string) => ({ status: 410, body: { reason, code: 'gone' } });
const wrongWith = (triesLeft: number) => ({ status: 403, body: { code: 'forbidden', reason: 'challenge_wrong', tries_left: triesLeft } });

test('W6: a hundred clicks at once activate once, and the link is then used, not exhausted', async () => {
  const { link } = await startWithLink();
  expect(await hundredTimes(link)).toEqual({ 200: 1, 410: 99 });
  expect(await openLink(link)).toMatchObject(gone('challenge_used'));
});

test('W6: of a hundred wrong tries at once from one address exactly five count, and for it the right one is then too late', async () => {
  const { workflow, link, wrong } = await startWithLink();
  expect(await hundredTimes(wrong)).toEqual({ 403: 5, 410: 95 });
  expect((await openLink(link)).status).toBe(410);
  expect((await storedWorkflow(workflow.id))?.challenge).toMatchObject({ wrongTries: 5 });
});

test('W6: a wrong challenge is 403 with the tries left, then 410 even for the right one, but not for another address', async () => {
  const { link, wrong } = await startWithLink();
  const [stranger, recipient] = [from('192.0.2.1'), from('192.0.2.2')];
  for (const left of [4, 3, 2, 1, 0]) expect(await openLink(wrong, stranger)).toMatchObject(wrongWith(left));
  for (const late of [wrong, link]) expect(await openLink(late, stranger)).toMatchObject(gone('challenge_exhausted'));
  expect(await openLink(wrong, recipient)).toMatchObject(wrongWith(4));
  expect((await openLink(link, recipient)).status).toBe(200);
  expect(await openLink(link, stranger)).toMatchObject(gone('challenge_used'));
});

test('W6: a hundred wrong tries of all addresses end the link for everybody', async () => {
  const [first, second] = [await startWithLink(), await startWithLink()];
  const db = await openDatabase(service);
  for (const { workflow } of [first, second]) {
    await collectionOf(db, 'workflows').updateOne({ _id: workflow.id }, { $set: { 'challenge.wrongTries': 99 } });
  }
  expect((await openLink(first.link)).status).toBe(200);
  expect(await openLink(second.wrong)).toMatchObject(wrongWith(0));
  expect(await openLink(second.link, from('192.0.2.3'))).toMatchObject(gone('challenge_exhausted'));
});

test('W6: an absent, malformed or cut challenge is wrong but uses no try; that of another workflow uses one', async () => {
  const [{ link, workflow }, other] = [await startWithLink(), await startWithLink()];
  const address = `${service.url}/api/v1/workflow/${workflow.id}/verify-user`;
  for (const cut of [address, `${address}?challenge=`, link.slice(0, -1), `${link}%20`, `${address}?challenge=${'ä'.repeat(43)}`]) {
    expect(await openLink(cut)).toMatchObject(wrongWith(5));
  }
  const [challenge, challengeOfOther] = [link, other.link].map((mailed) => mailed.split('/').at(-1));
  expect(await openLink(`${address}?challenge=${challengeOfOther}`)).toMatchObject(wrongWith(4));
  // The long form of the address confirms like the short one.
  for (const right of [`${address}?challenge=${challenge}`, other.link]) expect((await openLink(right)).status).toBe(200);
});

test('W7: completion and redaction end the challenge', async () => {
  const completed = await startWorkflow(service);
  const link = await mail.linkFor(completed.id);
  await completeWorkflow(service, completed);
  expect(await openLink(link)).toMatchObject(gone('workflow_closed'));

  const redacted = await startWithLink();
  await redactWorkflow(service, redacted.workflow);
  expect(await openLink(redacted.link)).toMatchObject(gone('email_redacted'));
  expect((await storedWorkflow(redacted.workflow.id))?.challenge).toBeUndefined();
});

test('W6: HEAD and declared prefetchers do not use up the challenge', async () => {
  const { link } = await startWithLink();
  const { pathname, search } = new URL(link);
  const declared = [
    'sec-purpose: prefetch',
    'sec-purpose: prefetch;prerender',
    'purpose: prefetch',
    'x-purpose: preview',
    'x-moz: prefetch',
  ];
  for (const header of declared) {
    // Not with fetch, which forbids Sec-* headers.
    const [name = '', value = ''] = header.split(': ');
    const { status } = await sendExactly(service, 'GET', `${pathname}${search}`, { headers: { [name]: value } });
    expect(status, header).toBe(503);
  }
  for (let times = 0; times < 6; times += 1) {
    const head = await fetch(link, { method: 'HEAD' });
    expect([head.status, await head.text()]).toEqual([200, '']);
  }
  expect((await openLink(link)).status).toBe(200);
});

test('E12: pages by default and for browsers, JSON on request', async () => {
  const { workflow, link, wrong } = await startWithLink();
  const accept = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8';
  const named = ['content-type', 'cache-control', 'referrer-policy'];
  const page = async (url: string, headers: Record<string, string> = { accept }) => {
    const answer = await fetch(url, { headers });
    return [answer.status, ...named.map((name) => answer.headers.get(name)), await answer.text()];
  };
  const fixed = ['text/html; charset=utf-8', 'no-store', 'no-referrer'];
  const html = (status: number, said: string) => [status, ...fixed, expect.stringContaining(said)];
  expect(await page(wrong)).toEqual(html(403, '4 times'));
  expect(await page(wrong, {})).toEqual(html(403, '3 times'));
  expect(await page(link)).toEqual(html(200, 'the link was opened'));
  expect(await page(link)).toEqual(html(410, 'already been used'));
  const used = { detail: expect.any(String), code: 'gone', reason: 'challenge_used', request_id: expect.any(String) };
  expect((await openLink(link)).body).toEqual(used);
  const unknown = link.replace(workflow.id, '01890a5d-ac96-774b-bcce-b302099a8057');
  expect((await page(unknown))[0]).toBe(404);
  expect(await openLink(unknown)).toMatchObject({ status: 404, body: { code: 'not_found' } });
  expect((await openLink(link.replace(workflow.id, 'nothing'))).status).toBe(422);
});

test('W6: the challenge of 32 bytes is in no log line and not in the database', async () => {
  const { workflow, link } = await startWithLink();
  const challenge = link.split('/').at(-1) ?? '';
  expect(Buffer.from(challenge, 'base64url')).toHaveLength(32);
  const stored = JSON.stringify(await storedWorkflow(workflow.id));
  for (let times = 0; times < 2; times += 1) await fetch(link);
  expect(stored + service.output() + service.workers.map((worker) => worker.output()).join('')).not.toContain(challenge);
});
