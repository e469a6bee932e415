import { describe, expect, it, test } from 'vitest';
import { publicNameFault, publicNameOf } from '../../../src/shared/domain/public-name.ts';
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
    ['https://evil.example', /link/],
    ['see www.evil.example', /link/],
    ['evil.example/login', /link/],
    ['javascript:alert(1)', /link/],
    ['to client@example.com', /e-mail/],
    ['for john@163.com', /e-mail/],
    ['john\uff20example.com', /e-mail/],
    ['//evil.example', /link/],
    ['evil.example?x=1', /link/],
    ['evil.example:8080', /link/],
    ['http:\u200d//evil.example', /link/],
    ['192.0.2.1/x', /link/],
    ['evil.xn--p1ai/x', /link/],
    ['\u200d', /not empty/],
    ['\u3164', /not empty/],
    ['\u2800', /not empty/],
    ['x'.repeat(101), /100 characters/],
    ['two\nlines', /control characters/],
    ['three\u202eeerht', /control characters/],
    [' ', /not empty/],
    [7, /a text/],
    [['cover.png'], /a text/],
  ])('does not show %j', (name, fault) => {
    expect(publicNameFault({ name, public: true }, 'name')).toMatch(fault);
    expect(shown({ name, public: true })).toBeNull();
  });

  it.each([{ name: 'a' }, { name: 'a', public: 'true' }, { name: 'a', public: 1 }, { public: true }, { title: 'a', public: true }])(
    'does not show %j, and accepts it',
    (metadata) => {
      expect(publicNameFault(metadata, 'name')).toBeUndefined();
      expect(shown(metadata)).toBeNull();
    },
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
  expect(/<h1.*?<\/h1>/s.exec(open)?.[0]).not.toContain('over');
  expect((await completeWorkflow(service, workflow)).status).toBe(200);
  expect((await redactWorkflow(service, workflow)).status).toBe(200);
  expect(await readPage(service, `/workflow/${workflow.id}`)).not.toMatch(/Cover of|cover&lt;/);
});

test('W24: a public name that would not be shown is refused, and the answer says why', async () => {
  const service = await sharedService();
  const workflow = await startWorkflow(service);
  const link = { name: 'https://evil.example', public: true };
  const output = await stampOutput(service, workflow, { output_metadata: link });
  expect(output.status).toBe(422);
  expect(JSON.stringify(output.body)).toContain('a public name must not contain a link or an e-mail address');
  expect(output.body.detail).toMatchObject([{ loc: ['body', 'output_metadata', 'name'] }]);
  const start = await startWorkflowRaw(service, startRequest({ briefing_metadata: { title: 'a\u0000b', public: true } }));
  expect(start.status).toBe(422);
  expect(start.body.detail).toMatchObject([{ loc: ['body', 'briefing_metadata', 'title'], type: 'value_error' }]);
});
