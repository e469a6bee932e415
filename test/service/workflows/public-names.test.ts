import { describe, expect, it, test } from 'vitest';
import { publicNameOf } from '../../../src/shared/domain/public-name.ts';
import { sharedService } from '../../support/service.ts';
import {
  completeWorkflow,
  readPage,
  redactWorkflow,
  stampOutput,
  startRequest,
  startWorkflow,
  startWorkflowRaw,
} from '../../support/workflows.ts';

describe('W24: a name is shown only if its holder made it public, and only as plain text', () => {
  const shown = (metadata: object) => publicNameOf(JSON.stringify(metadata), 'name');

  it.each([
    'cover.png',
    'Big data: a plan',
    'What is main.js?',
    'icon@2x.png',
    'v1.0/cover.png',
    'Titelbild, 3. Entwurf (Ä)',
    'می‌خواهم',
    '👩‍🎨',
    'x'.repeat(100),
  ])('shows %j', (name) => expect(shown({ name, public: true })).toBe(name));

  it.each([
    'https://evil.example',
    'see www.evil.example',
    'evil.example/login',
    'javascript:alert(1)',
    'to client@example.com',
    'for john@163.com',
    'john\uff20example.com',
    '//evil.example',
    'evil.example?x=1',
    'evil.example:8080',
    'http:\u200d//evil.example',
    '192.0.2.1/x',
    'evil.xn--p1ai/x',
    '\u200d',
    '\u3164',
    '\u2800',
    'x'.repeat(101),
    'two\nlines',
    'three\u202eeerht',
    ' ',
    7,
    ['cover.png'],
    null,
    { text: 'cover.png' },
    '\ud800',
  ])('does not show %j', (name) => expect(shown({ name, public: true })).toBeNull());

  it.each([{ name: 'a' }, { name: 'a', public: 'true' }, { name: 'a', public: 1 }, { public: true }, { title: 'a', public: true }])(
    'does not show %j',
    (metadata) => expect(shown(metadata)).toBeNull(),
  );
});

test('W24: the page shows names that are public, says that they are not proved, and forgets them with the redaction', async () => {
  const service = await sharedService();
  const workflow = await startWorkflow(service, { briefing_metadata: { title: 'Cover of the report', public: true, budget: 'secret' } });
  const hidden = await stampOutput(service, workflow, { output_metadata: { name: 'private.txt' } });
  const named = await stampOutput(service, workflow, { output_metadata: { name: '<b>cover</b>.png', public: true, note: 'secret' } });
  expect([hidden.status, named.status]).toEqual([201, 201]);
  const open = await readPage(service, `/workflow/${workflow.id}`);
  expect(open).toContain('“<bdi>Cover of the report</bdi>”');
  expect(open).toContain('“<bdi>&lt;b&gt;cover&lt;/b&gt;.png</bdi>”');
  expect(open).toContain('were given by the agent; they are not proved');
  expect(open).not.toMatch(/private\.txt|secret/);
  const [headline] = /<h1.*?<\/h1>/s.exec(open) ?? [];
  expect(headline).toMatch(/^(?!.*\.png).*Cover of the report/s);
  expect(open).toContain('The agent gave the names above. Nobody has checked them');
  expect((await completeWorkflow(service, workflow)).status).toBe(200);
  expect((await redactWorkflow(service, workflow)).status).toBe(200);
  expect(await readPage(service, `/workflow/${workflow.id}`)).not.toMatch(/Cover of|cover&lt;/);
});

test('W24: metadata with a name that cannot be shown is accepted like any other', async () => {
  const service = await sharedService();
  const hidden = ['https://evil.example', 'a\u0000b\nc', 'x'.repeat(3_000), '\u202eabc', '', 7, null, { a: [1] }];
  const workflow = await startWorkflow(service, { briefing_metadata: { title: 'see www.evil.example', public: true } });
  for (const title of hidden) {
    expect((await startWorkflowRaw(service, startRequest({ briefing_metadata: { title, public: true } }))).status).toBe(201);
  }
  for (const name of hidden) {
    expect((await stampOutput(service, workflow, { output_metadata: { name, public: true } })).status).toBe(201);
  }
  const page = await readPage(service, `/workflow/${workflow.id}`);
  expect(page).not.toContain('evil.example');
  expect(page).not.toContain('Task, named by the agent');
  expect(page).toContain(`id="output-${hidden.length}"`);
});

test('W3: a type is shown as plain text, apart from its surroundings, and not at all if it is no plain word', async () => {
  const service = await sharedService();
  const workflow = await startWorkflow(service);
  for (const output_type of ['Entwurf <b>', 'visit www.evil.example', 'abc\u202e']) {
    expect((await stampOutput(service, workflow, { output_type })).status).toBe(201);
  }
  const page = await readPage(service, `/workflow/${workflow.id}`);
  expect([...page.matchAll(/<bdi>(.*?)<\/bdi>/g)].map(([, type]) => type)).toEqual(['Entwurf &lt;b&gt;', 'other', 'other']);
});
