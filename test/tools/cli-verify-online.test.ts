import { describe, expect, test } from 'vitest';
import * as cli from '../support/cli.ts';
import { digestOf, folder, mockToken, only, sendJson, startStub, tokenId, tokenOf } from '../support/cli.ts';

describe('--online', () => {
  const lie = (valid: boolean, reason: string | null = null) => ({
    valid,
    token_id: tokenId,
    issued_at: '2001-01-01T00:00:00Z',
    content_sha256: digestOf('b').toString('hex'),
    tsp_provider: 'acme\na: valid',
    is_qualified: true,
    reason,
  });
  const startLiar = (valid: boolean) => startStub((response) => sendJson(response, 200, lie(valid, valid ? null : 'x: y.')));

  test('V9: a service that always answers valid cannot make anything valid', async () => {
    const { url } = await startLiar(true);
    const cases = [
      [folder(tokenOf('a')), 'not_proved'],
      [folder(mockToken('a')), 'not_proved'],
      [folder(tokenOf('b')), 'not_valid'],
      [folder('AAAA'.repeat(20)), 'not_valid'],
    ] as const;
    for (const [{ run }, verdict] of cases) {
      const outcome = await run(['verify', '--online', '--json', 'a'], { url });
      expect(outcome.code).toBe(1);
      expect(only(outcome)).toMatchObject({ verdict, valid: false, issued_at: null, online: { valid: true } });
    }
    const { stdout } = await folder(mockToken('a')).run(['verify', '--online', 'a'], { url });
    expect(stdout).toContain(
      'the service says: valid, existed at 2001-01-01T00:00:00.000Z (acme a: valid, qualified) (this proves nothing)\n',
    );
  });

  test('sends the token and the digest of the file to the service, and shows both verdicts', async () => {
    const { url, seen } = await startLiar(true);
    const token = tokenOf('a');
    const { run } = folder(token);
    const { code, stdout } = await run(['verify', '--online', '--ca', 'root.pem', 'a'], { url });
    expect([code, stdout]).toEqual([0, expect.stringMatching(/^a: valid, existed at 2024[\s\S]*the service says: valid, existed at 2001/)]);
    expect(seen.map(({ line, body }) => [line, JSON.parse(body)])).toEqual([
      ['POST /api/v1/verify/v1/raw?details=true', { token, hash: digestOf('a').toString('hex') }],
    ]);
  });

  test('a different or missing answer of the service is reported', async () => {
    const { run } = folder(tokenOf('a'));
    const line = ['verify', '--online', '--json', '--ca', 'root.pem', 'a'];
    const denied = await run(line, { url: (await startLiar(false)).url });
    expect([denied.code, only(denied)]).toEqual([1, expect.objectContaining({ verdict: 'valid', online: lie(false, 'x: y.') })]);
    const silent = await run(line);
    expect([silent.code, only(silent)]).toEqual([
      4,
      expect.objectContaining({ verdict: 'valid', online: { error: { message: expect.stringContaining('cannot be reached') } } }),
    ]);
  });

  test('the token of an id is fetched and verified locally; without a token nothing is proved', async () => {
    const answers = (token: Buffer | undefined) =>
      startStub((response, { line }) => {
        if (!line.endsWith('/token')) sendJson(response, 200, lie(true));
        else if (token) response.writeHead(200, { 'content-type': 'application/timestamp-token' }).end(token);
        else sendJson(response, 404, { detail: 'None.' });
      });
    const { run } = folder(tokenOf('a'));
    const judge = async (token: Buffer | undefined) =>
      only(await run(['verify', '--online', '--json', '--ca', 'root.pem', tokenId], { url: (await answers(token)).url }));
    expect(await judge(cli.answerFor('a'))).toMatchObject({
      verdict: 'valid',
      issued_at: cli.genTime,
      token_id: tokenId,
      claimed_token_id: null,
    });
    expect(await judge(undefined)).toMatchObject({ verdict: 'not_proved', reason: expect.stringMatching(/^no_token: /) });
  });

  test('V9: an output without a token proves nothing; service and record both show that its file has changed', async () => {
    const { url } = await startStub((response, { line }) => {
      if (line.endsWith('/token')) sendJson(response, 404, { detail: 'None.' });
      else sendJson(response, 200, lie(true));
    });
    const output = { output_id: tokenId, sequence_number: 1, stamp_token_id: tokenId, verify_url: '/', workflow_anchor_url: '/' };
    const of = { file: 'b', bytes: 1, sha256: digestOf('b').toString('hex'), service: url, workflow_id: tokenId };
    const record = JSON.stringify({ qstamp: 1, kind: 'workflow_output', ...of, output, token: null });
    const judge = async (content: string) => {
      const { run } = cli.folderWith({ b: content, 'b.qstamp.json': record });
      const outcome = await run(['verify', '--online', '--json', 'b'], { url });
      return { code: outcome.code, said: only(outcome) };
    };
    expect(await judge('b')).toMatchObject({ code: 1, said: { verdict: 'not_proved', online: { valid: true } } });
    expect(await judge('changed')).toMatchObject({
      code: 1,
      said: {
        verdict: 'not_valid',
        reason: expect.stringMatching(/^imprint_mismatch: /),
        online: { valid: false, reason: expect.stringMatching(/^imprint_mismatch: /) },
      },
    });
  });
});
