import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { freshAddress, limitedService } from '../../support/limited-service.ts';
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
  const providers = providersSettings([{ tsa: await startTsa({ onEnd }) }], onEnd);
  const settings = { ...providers, RATE_WORKFLOW_START_PER_HOUR: '0', LOG_LEVEL: 'trace', TSA_DOOR: 'public' };
  service = await startService({ keep: true, settings });
  onEnd(() => service.stop());
});
afterAll(async () => {
  for (const close of closers.toReversed()) await close();
});

const start = (briefing_hash = randomHash()) => ({ user_email: 'client@example.com', agent_id: 'assistant', briefing_hash });
/** The outcome of `verify_file_hash` for a file that is not verified. */
const notVerified = (code: string) => ({ verified: false, reason: expect.stringMatching(new RegExp(`^${code}: `)) });

describe('W15: workflow metadata comes back exactly as sent', () => {
  const sent = '{ "b": 123456789012345678, "a": 1.0, "2a": [ { "x": -1.50E+2 } , "a b\\"}" ], "\\u00e9": {} }';
  const kept = '"briefing_metadata":{"b":123456789012345678,"a":1.0,"2a":[{"x":-1.50E+2},"a b\\"}"],"é":{}},';
  const body = (metadata: string) => JSON.stringify(start()).replace(/\}$/, `, "briefing_metadata" : ${metadata}}`);
  const post = async (path: string, text: string) => {
    const headers = { 'content-type': 'application/json', ...internalHeaders };
    return (await service.fetch(path, { method: 'POST', headers, body: text })).text();
  };
  const stateOf = async ({ workflow_id, workflow_token }: JsonObject) =>
    (await service.fetch(`/api/v1/workflow/${workflow_id}`, { headers: { authorization: `Workflow ${workflow_token}` } })).text();

  test('by REST, except for a number that is too large for any reader', async () => {
    const state = await stateOf(JSON.parse(await post('/api/v1/workflow/start', body(sent))));
    expect(state).toContain(kept);
    expect(() => JSON.parse(state)).not.toThrow();
    const { detail } = JSON.parse(await post('/api/v1/workflow/start', body('{"a":[{"b":1e400}]}')));
    expect(detail).toMatchObject([{ type: 'finite_number', loc: ['body', 'briefing_metadata', 'a', 0, 'b'] }]);
  });

  test('by an assistant, in a batch, in both forms of the answer', async () => {
    const call = (id: number, name: string, given: string) =>
      `{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":{"name":"${name}","arguments":${given}}}`;
    const started = JSON.parse(await post('/mcp', `[${call(1, 'x', '{}')},${call(2, 'workflow_start', body(sent))}]`));
    const { workflow_id, workflow_token } = started[1].result.structuredContent;
    expect(await stateOf({ workflow_id, workflow_token })).toContain(kept);
    const told = await post('/mcp', call(3, 'workflow_status', JSON.stringify({ workflow_id, workflow_token })));
    expect([told, JSON.parse(told).result.content[0].text]).toEqual([expect.stringContaining(kept), expect.stringContaining(kept)]);
  });
});

/** Both protocol revisions. */
const eras: [string, (name: string, given: JsonObject) => Promise<{ body: unknown }>][] = [
  ['2024-11-05', (name, given) => postMcp(service, rpc('tools/call', { name, arguments: given }), internalHeaders)],
  ['2026-07-28', (name, given) => postModern(service, modernCall(name, given), internalHeaders)],
];

test.each(eras)('M13: a whole workflow by tools alone in %s', async (era, post) => {
  const call = async (name: string, given: JsonObject) => ((await post(name, given)).body as { result: ToolResult }).result;
  const done = async (name: string, given: JsonObject) => {
    const { isError, structuredContent, content } = await call(name, given);
    expect([isError, structuredContent], name).toEqual([false, expect.not.objectContaining({ code: expect.anything() })]);
    return { ...structuredContent, links: content.slice(1).map((link) => (link as unknown as { uri: string }).uri) } as JsonObject;
  };
  const { workflow_id, workflow_token, page_url } = await done('workflow_start', start());
  const workflow = { workflow_id, workflow_token };
  const verify = (sha256_hex: string) => done('verify_file_hash', { sha256_hex, workflow_id });
  expect(page_url).toBe(`${service.url}/workflow/${workflow_id}`);
  const [first, second] = ['first', 'second'].map(sha256) as [string, string];
  for (const [index, output_hash] of [first, second].entries()) {
    const stamped = await done('workflow_stamp_output', { ...workflow, output_hash, output_type: 'text' });
    expect(stamped).toMatchObject({ sequence_number: index + 1, verify_url: `${page_url}#output-${index + 1}` });
  }
  expect(await done('workflow_status', { workflow_id })).toMatchObject({ status: 'pending', output_count: 2 });
  expect(await done('workflow_status', workflow)).toMatchObject({ agent_id: 'assistant' });
  expect(failureOf(await call('workflow_bundle', { workflow_id }))).toMatchObject({ code: 'conflict' });
  expect(await verify(first)).toMatchObject({ ...notVerified('workflow_open'), sequence_number: 1 });

  const completed = await done('workflow_complete', workflow);
  expect(completed).toMatchObject({ status: 'completed', output_count: 2 });
  expect(await done('workflow_complete', workflow)).toMatchObject({ completed_at: completed.completed_at });
  const bundle_url = `${page_url}/evidence.zip`;
  const links = era === '2024-11-05' ? [] : [bundle_url, page_url];
  expect(await done('workflow_bundle', { workflow_id })).toMatchObject({ bundle_url, output_count: 2, links });
  const zip = await fetch(bundle_url);
  await zip.body?.cancel();
  expect([zip.status, zip.headers.get('content-type')]).toEqual([200, 'application/zip']);
  expect(await verify(second)).toMatchObject({ verified: true, sequence_number: 2, reason: null });
  expect(await verify(randomHash())).toMatchObject(notVerified('not_an_output'));
  expect(service.output()).not.toContain(String(workflow_token));
});

test('M13: files are stamped, verified, and counted for the product', async () => {
  const [a, b] = [randomHash(), randomHash()];
  const { product: _, headers } = ownProduct();
  const call = rpc('tools/call', { name: 'stamp_file_hashes', arguments: { files: [{ name: 'a', sha256_hex: a }, { sha256_hex: b }] } });
  const { body } = await postMcp(service, call, headers);
  const { files, ...counts } = (body as { result: ToolResult }).result.structuredContent;
  expect([counts, files]).toMatchObject([
    { stamped: 2, failed: 0 },
    [
      { name: 'a', sha256_hex: a },
      { name: null, sha256_hex: b },
    ],
  ]);
  const [{ token_id, issued_at, verify_url }] = files as [JsonObject];
  expect((await verifyById(service, token_id)).body).toMatchObject({ valid: true, content_sha256: a });
  expect((await getJson(service, '/api/v1/internal/v1/stamps', headers)).body.total).toBe(2);
  const verify = async (sha256_hex: string) => (await callTool(service, 'verify_file_hash', { sha256_hex, token_id })).structuredContent;
  expect(await verify(a)).toMatchObject({ verified: true, issued_at, url: verify_url });
  expect(await verify(b)).toMatchObject(notVerified('imprint_mismatch'));
});

describe('M13: verify_file_hash', () => {
  const verify = async (of: RunningService, given: JsonObject) => (await callTool(of, 'verify_file_hash', given)).structuredContent;
  /** A stamp and a completed workflow with this hash. */
  const evidenceOf = async (of: RunningService, hash: string) => {
    const { body } = await stampInternal(of, { hash });
    const workflow = await startWorkflow(of);
    await stampOutput(of, workflow, { output_hash: hash });
    await completeWorkflow(of, workflow);
    return [{ token_id: body.token_id }, { token: body.token }, { workflow_id: workflow.id }];
  };

  test('W17: accepts the hash in upper case, and lists what was not checked', async () => {
    const hash = randomHash();
    const outcomes: JsonObject[] = [];
    for (const given of await evidenceOf(service, hash)) outcomes.push(await verify(service, { sha256_hex: hash.toUpperCase(), ...given }));
    const [byId, byToken, byWorkflow] = outcomes;
    expect(byId).toMatchObject({ verified: true, reason: null, tsp_provider: 'tsa-1' });
    expect(byId?.not_checked).toEqual(expect.arrayContaining([expect.stringMatching(/^whether .* was revoked: /)]));
    expect([byToken, byWorkflow]).toEqual([byId, expect.objectContaining({ verified: true })]);
  });

  test('S15: reports a stamp of another algorithm, by id and by token', async () => {
    const reply = await postToDoor(service, ask({ hash: 'sha512' }).der);
    for (const given of [{ token_id: reply.headers.get('qstamp-stamp-id') }, { token: reply.body.toString('base64') }])
      expect(await verify(service, { sha256_hex: sha256('x'), ...given })).toMatchObject(notVerified('imprint_algorithm_mismatch'));
  });

  test('V9: a test stamp verifies no file: by id, by token, and of root and closing record of a workflow', async () => {
    const [mock, hash] = [await sharedService(), randomHash()];
    const evidence = await evidenceOf(mock, hash);
    for (const given of evidence) expect(await verify(mock, { sha256_hex: hash, ...given })).toMatchObject(notVerified('test_stamp'));
    expect(await verify(mock, { sha256_hex: randomHash(), ...evidence[0] })).toMatchObject(notVerified('imprint_mismatch'));
  });
});

test('S9, E5: a key makes starts and outputs safe to repeat; a wrong workflow token is refused', async () => {
  const key = { idempotency_key: `key-${randomHash()}` };
  const given = start();
  const first = await callTool(service, 'workflow_start', given, key);
  expect(await callTool(service, 'workflow_start', given, key)).toEqual(first);
  const { workflow_id, workflow_token } = first.structuredContent;
  const output = { workflow_id, workflow_token, output_hash: randomHash(), output_type: 'text' };
  for (let times = 0; times < 2; times += 1)
    expect((await callTool(service, 'workflow_stamp_output', output, key)).structuredContent.sequence_number).toBe(1);
  const wrongly = await callTool(service, 'workflow_stamp_output', { ...output, workflow_token: 'wrong' });
  expect(failureOf(wrongly)).toMatchObject({ code: 'unauthorized' });
});

test('M7: beyond a limit of REST the answer is −32029 with the id of the request, 429 and the time to wait', async () => {
  const limited = await limitedService();
  const from = { ...freshAddress(), ...internalHeaders };
  const call = (id: unknown) => rpc('tools/call', { name: 'workflow_start', arguments: start('a'.repeat(64)) }, id);
  for (let count = 0; count < 4; count += 1) expect((await postMcp(limited, call(count), from)).status).toBe(200);
  const { body: batch, status } = await postMcp(limited, [call(4), call(5)], from);
  expect([status, (batch as object[]).map((answer) => 'error' in answer).toSorted()]).toEqual([200, [false, true]]);
  const refused = await postMcp(limited, call('six'), from);
  expect(faultOf(refused)).toEqual({ status: 429, id: 'six', code: -32029 });
  const seconds = Number(refused.headers.get('retry-after'));
  expect(seconds).toBeGreaterThan(3_500);
  const data = { code: 'rate_limited', retry_after_seconds: seconds };
  expect(refused.body).toMatchObject({ error: { message: expect.stringMatching(/^At most 5 requests/), data } });
  const modern = await postModern(limited, modernCall('workflow_start', start('a'.repeat(64))), from);
  expect(faultOf(modern)).toEqual({ status: 429, id: 1, code: -32029 });
  const [first] = (await postMcp(limited, [call('a'), call('b')], from)).body as [unknown];
  expect(faultOf({ status: 429, body: first })).toEqual({ status: 429, id: 'a', code: -32029 });
});
