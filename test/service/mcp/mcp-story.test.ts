import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { freshAddress, limitedService } from '../../support/limited-service.ts';
import { startMailServer } from '../../support/mail.ts';
import { callTool, failureOf, faultOf, modernCall, postMcp, postModern, rpc, type ToolResult } from '../../support/mcp.ts';
import { getJson, internalHeaders, type JsonObject, randomHash, sha256, stampInternal, verifyById } from '../../support/requests.ts';
import { ownProduct, type RunningService, type Service, sharedService, startService } from '../../support/service.ts';
import { postToDoor } from '../../support/tsa-door.ts';
import { ask } from '../../support/tsa-lab.ts';
import { providersSettings, startTsa } from '../../support/tsa-service.ts';
import { completeWorkflow, stampOutput, startWorkflow } from '../../support/workflows.ts';

let service: Service;
const closers: (() => unknown)[] = [];
beforeAll(async () => {
  const onEnd = (close: () => unknown) => void closers.push(close);
  const mail = await startMailServer({ keep: true });
  onEnd(() => mail.close());
  const settings = { SMTP_URL: mail.url, MAIL_FROM: 'qstamp@qstamp.example', RATE_WORKFLOW_START_PER_HOUR: '0', LOG_LEVEL: 'trace' };
  const providers = providersSettings([{ tsa: await startTsa({ onEnd }) }], onEnd);
  service = await startService({ keep: true, settings: { ...settings, ...providers, TSA_DOOR: 'public' } });
  onEnd(() => service.stop());
});
afterAll(async () => {
  for (const close of closers.toReversed()) await close();
});

/** Both protocol revisions. */
const eras: [string, (name: string, given: JsonObject) => Promise<ToolResult>][] = [
  [
    '2024-11-05',
    async (name, given) =>
      ((await postMcp(service, rpc('tools/call', { name, arguments: given }), internalHeaders)).body as { result: ToolResult }).result,
  ],
  [
    '2026-07-28',
    async (name, given) => ((await postModern(service, modernCall(name, given), internalHeaders)).body as { result: ToolResult }).result,
  ],
];

describe('W15: workflow metadata comes back exactly as sent', () => {
  const sent = '{ "b": 123456789012345678, "a": 1.0, "2a": [ { "x": -1.50E+2 } , "a b\\"}" ], "\\u00e9": {} }';
  const kept = '{"b":123456789012345678,"a":1.0,"2a":[{"x":-1.50E+2},"a b\\"}"],"é":{}}';
  const start = (metadata: string) =>
    `{"user_email":"client@example.com","agent_id":"a","briefing_hash":"${randomHash()}", "briefing_metadata" : ${metadata}}`;
  const post = (path: string, body: string) =>
    service.fetch(path, { method: 'POST', headers: { 'content-type': 'application/json', ...internalHeaders }, body });
  const stateOf = async ({ workflow_id, workflow_token }: Record<string, unknown>) =>
    (await service.fetch(`/api/v1/workflow/${workflow_id}`, { headers: { authorization: `Workflow ${workflow_token}` } })).text();

  test('by REST', async () => {
    const answer = await post('/api/v1/workflow/start', start(sent));
    expect(answer.status).toBe(201);
    const state = await stateOf((await answer.json()) as JsonObject);
    expect(state).toContain(`"briefing_metadata":${kept},`);
    expect(() => JSON.parse(state)).not.toThrow();
  });

  test('by an assistant, in a batch, in both forms of the answer', async () => {
    const call = (id: number, name: string, given: string) =>
      `{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":{"name":"${name}","arguments":${given}}}`;
    const [, started] = (await (await post('/mcp', `[${call(1, 'x', '{}')},${call(2, 'workflow_start', start(sent))}]`)).json()) as {
      result: ToolResult;
    }[];
    const { workflow_id, workflow_token } = started!.result.structuredContent;
    expect(await stateOf({ workflow_id, workflow_token })).toContain(`"briefing_metadata":${kept},`);
    const told = await (await post('/mcp', call(3, 'workflow_status', JSON.stringify({ workflow_id, workflow_token })))).text();
    expect(told).toContain(`"briefing_metadata":${kept},`);
    const { result } = JSON.parse(told) as { result: ToolResult };
    expect((result.content[0] as { text: string }).text).toContain(`"briefing_metadata":${kept},`);
  });

  test('a number that is too large for any reader is 422, anywhere in the metadata', async () => {
    const answer = await post('/api/v1/workflow/start', start('{"a":[{"b":1e400}]}'));
    const { detail } = (await answer.json()) as { detail: unknown };
    expect([answer.status, detail]).toMatchObject([422, [{ type: 'finite_number', loc: ['body', 'briefing_metadata', 'a', 0, 'b'] }]]);
  });
});

describe.each(eras)('M13: a whole workflow by tools alone in %s', (era, call) => {
  const done = async (name: string, given: JsonObject) => {
    const { isError, structuredContent, content } = await call(name, given);
    expect(structuredContent, name).not.toHaveProperty('code');
    expect(isError, name).toBe(false);
    return { ...structuredContent, links: content.slice(1).map((link) => (link as unknown as { uri: string }).uri) } as JsonObject & {
      links: string[];
    };
  };

  test('started, worked in, looked at, completed, bundled, and its files verified', async () => {
    const started = await done('workflow_start', { user_email: 'client@example.com', agent_id: 'assistant', briefing_hash: randomHash() });
    const { workflow_id, workflow_token, page_url } = started;
    expect(page_url).toBe(`${service.url}/workflow/${workflow_id}`);
    const files = ['first', 'second'].map(sha256);
    for (const [index, output_hash] of files.entries()) {
      const stamped = await done('workflow_stamp_output', { workflow_id, workflow_token, output_hash, output_type: 'text' });
      expect(stamped).toMatchObject({ sequence_number: index + 1, verify_url: `${page_url}#output-${index + 1}` });
    }
    expect(await done('workflow_status', { workflow_id })).toMatchObject({ status: 'pending', output_count: 2 });
    expect(await done('workflow_status', { workflow_id, workflow_token })).toMatchObject({ agent_id: 'assistant' });
    const early = await call('workflow_bundle', { workflow_id });
    expect(failureOf(early)).toMatchObject({ code: 'conflict' });
    expect(await done('verify_file_hash', { sha256_hex: files[0]!, workflow_id })).toMatchObject({
      verified: false,
      sequence_number: 1,
      reason: expect.stringMatching(/^workflow_open: /),
    });

    const completed = await done('workflow_complete', { workflow_id, workflow_token });
    expect(completed).toMatchObject({ status: 'completed', output_count: 2 });
    expect((await done('workflow_complete', { workflow_id, workflow_token })).completed_at).toBe(completed.completed_at);
    const { bundle_url, output_count, links } = await done('workflow_bundle', { workflow_id });
    expect([bundle_url, output_count]).toEqual([`${service.url}/workflow/${workflow_id}/evidence.zip`, 2]);
    expect(links).toEqual(era === '2024-11-05' ? [] : [bundle_url, page_url]);
    const zip = await fetch(String(bundle_url));
    expect([zip.status, zip.headers.get('content-type')]).toEqual([200, 'application/zip']);
    await zip.body?.cancel();
    expect(await done('verify_file_hash', { sha256_hex: files[1]!, workflow_id })).toMatchObject({
      verified: true,
      sequence_number: 2,
      reason: null,
    });
    expect(await done('verify_file_hash', { sha256_hex: randomHash(), workflow_id })).toMatchObject({
      verified: false,
      reason: expect.stringMatching(/^not_an_output: /),
    });
    expect(service.output()).not.toContain(String(workflow_token));
  });

  test('files are stamped and verified', async () => {
    const hashes = [randomHash(), randomHash()];
    const { stamped, failed, files } = await done('stamp_file_hashes', {
      files: [{ name: 'a', sha256_hex: hashes[0]! }, { sha256_hex: hashes[1]! }],
    });
    expect({ stamped, failed }).toEqual({ stamped: 2, failed: 0 });
    const [first, second] = files as JsonObject[];
    expect([first, second]).toMatchObject([
      { name: 'a', sha256_hex: hashes[0] },
      { name: null, sha256_hex: hashes[1] },
    ]);
    expect((await verifyById(service, first?.token_id)).body).toMatchObject({ valid: true, content_sha256: hashes[0] });
    const given = { sha256_hex: hashes[0]!, token_id: String(first?.token_id) };
    expect(await done('verify_file_hash', given)).toMatchObject({ verified: true, issued_at: first?.issued_at, url: first?.verify_url });
    expect(await done('verify_file_hash', { ...given, sha256_hex: hashes[1]! })).toMatchObject({
      verified: false,
      reason: expect.stringMatching(/^imprint_mismatch: /),
    });
  });
});

describe('M13: verify_file_hash', () => {
  const verify = async (of: RunningService, given: JsonObject) => (await callTool(of, 'verify_file_hash', given)).structuredContent;

  test('W17: accepts the hash in upper case, and lists what was not checked', async () => {
    const hash = randomHash();
    const { body } = await stampInternal(service, { hash });
    const [byId, byToken] = [
      await verify(service, { sha256_hex: hash.toUpperCase(), token_id: body.token_id }),
      await verify(service, { sha256_hex: hash.toUpperCase(), token: body.token }),
    ];
    expect(byId).toMatchObject({ verified: true, reason: null, tsp_provider: 'tsa-1' });
    expect(byId.not_checked).toEqual(expect.arrayContaining([expect.stringMatching(/^whether .* was revoked: /)]));
    // The file was compared in both cases.
    expect(byToken).toEqual(byId);
    const workflow = await startWorkflow(service);
    await stampOutput(service, workflow, { output_hash: hash });
    await completeWorkflow(service, workflow);
    expect(await verify(service, { sha256_hex: hash.toUpperCase(), workflow_id: workflow.id })).toMatchObject({ verified: true });
  });

  test('S15: reports a stamp of another algorithm, by id and by token', async () => {
    const reply = await postToDoor(service, ask({ hash: 'sha512' }).der);
    const sha256_hex = sha256('the document');
    for (const given of [{ token_id: reply.headers.get('qstamp-stamp-id') }, { token: reply.body.toString('base64') }]) {
      expect(await verify(service, { sha256_hex, ...given })).toMatchObject({
        verified: false,
        reason: expect.stringMatching(/^imprint_algorithm_mismatch: /),
      });
    }
  });

  test('V9: a test stamp verifies no file: by id, by token, and of root and closing record of a workflow', async () => {
    const mock = await sharedService();
    const hash = randomHash();
    const { body } = await stampInternal(mock, { hash });
    const workflow = await startWorkflow(mock);
    await stampOutput(mock, workflow, { output_hash: hash });
    await completeWorkflow(mock, workflow);
    for (const given of [{ token_id: body.token_id }, { token: body.token }, { workflow_id: workflow.id }]) {
      expect(await verify(mock, { sha256_hex: hash, ...given })).toMatchObject({
        verified: false,
        reason: 'test_stamp: The stamp comes from the mock provider, which is for testing. It proves nothing to a third party.',
      });
    }
    expect(await verify(mock, { sha256_hex: randomHash(), token_id: body.token_id })).toMatchObject({
      verified: false,
      reason: expect.stringMatching(/^imprint_mismatch: /),
    });
  });
});

describe('M13: refusals of the tools', () => {
  const refused = async (name: string, given: JsonObject) => failureOf(await callTool(service, name, given));
  const workflow_id = '01890a5d-ac96-774b-bcce-b302099a8057';

  test.each([
    ['stamp_file_hashes', {}, 'files'],
    ['stamp_file_hashes', { files: [] }, 'files'],
    ['stamp_file_hashes', { files: [{ sha256_hex: 'x' }] }, 'sha256_hex'],
    ['workflow_start', { user_email: 'no', agent_id: 'a', briefing_hash: randomHash() }, 'user_email'],
    ['workflow_status', {}, 'workflow_id'],
    ['workflow_stamp_output', { workflow_id, output_hash: randomHash(), output_type: 'text' }, 'workflow_token'],
    ['workflow_complete', { workflow_id: 'x', workflow_token: 'x' }, 'workflow_id'],
    ['verify_file_hash', { sha256_hex: randomHash() }, 'exactly one'],
    ['verify_file_hash', { sha256_hex: randomHash(), token: 'x', workflow_id }, 'exactly one'],
  ])('M6: %s %j names %s', async (name, given, named) => {
    expect(JSON.stringify((await refused(name, given)).detail)).toContain(named);
  });

  test('E5: a wrong workflow token and an unknown workflow', async () => {
    const { structuredContent: started } = await callTool(service, 'workflow_start', {
      user_email: 'a@example.com',
      agent_id: 'a',
      briefing_hash: randomHash(),
    });
    const output = { output_hash: randomHash(), output_type: 'text', workflow_token: 'wrong' };
    expect(await refused('workflow_stamp_output', { ...output, workflow_id: started.workflow_id })).toMatchObject({ code: 'unauthorized' });
    expect(await refused('workflow_stamp_output', { ...output, workflow_id })).toMatchObject({ code: 'not_found' });
    expect(await refused('workflow_bundle', { workflow_id })).toMatchObject({ code: 'not_found' });
  });

  test('S9: keys make calls safe to repeat, also starts and outputs', async () => {
    const start = { user_email: 'a@example.com', agent_id: 'a', briefing_hash: randomHash() };
    const key = { idempotency_key: `key-${randomHash()}` };
    const [first, again] = [await callTool(service, 'workflow_start', start, key), await callTool(service, 'workflow_start', start, key)];
    expect(again).toEqual(first);
    const { workflow_id, workflow_token } = first.structuredContent;
    const output = { workflow_id, workflow_token, output_hash: randomHash(), output_type: 'text' };
    for (let times = 0; times < 2; times += 1) {
      expect((await callTool(service, 'workflow_stamp_output', output, key)).structuredContent.sequence_number).toBe(1);
    }
  });

  test('M7: beyond a limit of REST the answer is −32029 with the id of the request, 429 and the time to wait', async () => {
    const limited = await limitedService();
    const from = { ...freshAddress(), ...internalHeaders };
    const start = { name: 'workflow_start', arguments: { user_email: 'a@example.com', agent_id: 'a', briefing_hash: randomHash() } };
    const call = (id: unknown) => rpc('tools/call', start, id);
    for (let count = 0; count < 4; count += 1) expect((await postMcp(limited, call(count), from)).status).toBe(200);
    const { body: batch, status } = await postMcp(limited, [call(4), call(5)], from);
    expect([status, (batch as object[]).map((answer) => ('error' in answer ? 'limited' : 'done')).toSorted()]).toEqual([
      200,
      ['done', 'limited'],
    ]);
    const refused = await postMcp(limited, call('six'), from);
    expect(faultOf(refused)).toEqual({ status: 429, id: 'six', code: -32029 });
    const seconds = Number(refused.headers.get('retry-after'));
    expect(seconds).toBeGreaterThan(3_500);
    expect(refused.body).toMatchObject({
      error: { message: expect.stringMatching(/^At most 5 requests/), data: { code: 'rate_limited', retry_after_seconds: seconds } },
    });
    expect(faultOf(await postModern(limited, modernCall('workflow_start', start.arguments), from))).toEqual({
      status: 429,
      id: 1,
      code: -32029,
    });
    const [first] = (await postMcp(limited, [call('a'), call('b')], from)).body as [unknown];
    expect(faultOf({ status: 429, body: first })).toEqual({ status: 429, id: 'a', code: -32029 });
  });

  test('M13: stamps of a product count for it, by any tool', async () => {
    const { headers } = ownProduct();
    const call = rpc('tools/call', { name: 'stamp_file_hashes', arguments: { files: [{ sha256_hex: randomHash() }] } });
    const { body } = await postMcp(service, call, headers);
    const [{ token_id }] = (body as { result: ToolResult }).result.structuredContent.files as [{ token_id: string }];
    expect((await getJson(service, '/api/v1/internal/v1/stamps', headers)).body).toMatchObject({ items: [{ token_id }], total: 1 });
  });
});
