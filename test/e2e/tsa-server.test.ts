import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { integer } from '../../src/shared/rfc3161/asn1/der-writer.ts';
import { createFault, FAULT_NAMES } from '../../src/tsa/faults.ts';
import { createPki } from '../../src/tsa/pki.ts';
import { createTsaServer, DEVELOPMENT_POLICY, QUERY_TYPE, type TsaServer } from '../../src/tsa/server.ts';
import { opensslQuery, opensslReplyText, opensslVerify } from '../support/openssl-tsa.ts';
import { postQuery } from '../support/tsa-client.ts';
import { ask } from '../support/tsa-lab.ts';

const REPLY_TYPE = 'application/timestamp-reply';
const pki = createPki({ nowMs: Date.now() });
const asked = ask();

let nowMs: number;
let tsa: TsaServer;
let url: string;

beforeEach(async () => {
  nowMs = Date.now();
  tsa = createTsaServer({ pki, clock: () => nowMs, faultsInAddress: true });
  url = await tsa.listen();
});

afterEach(() => tsa.close());

const judge = (answer: Buffer) => opensslVerify({ answer, against: { query: asked.der }, rootPem: pki.rootPem });

describe('the development TSA over HTTP (RFC 3161 §3.4)', () => {
  test('answers an OpenSSL query with a token that OpenSSL accepts', async () => {
    const query = await opensslQuery({ digest: 'ab'.repeat(32) });
    const { status, headers, body } = await postQuery(url, query);
    expect(status).toBe(200);
    expect(headers.get('content-type')).toBe(REPLY_TYPE);
    expect(headers.get('content-length')).toBe(String(body.length));
    const verified = await opensslVerify({ answer: body, against: { query }, rootPem: pki.rootPem });
    expect(verified.output).toContain('Verification: OK');
  });

  test('takes its time from the clock it is given, and its policy is that of no real TSA', async () => {
    nowMs = Date.UTC(2031, 0, 2, 3, 4, 5, 600);
    const { output } = await opensslReplyText((await postQuery(url, asked.der)).body);
    expect(output).toContain('Time stamp: Jan  2 03:04:05.6 2031 GMT');
    expect(output).toContain(`Policy OID: ${DEVELOPMENT_POLICY}`);
  });

  test('every serial number is positive, new, and has 64 to 160 bits', async () => {
    const answers = await Promise.all(Array.from({ length: 50 }, () => postQuery(url, asked.der)));
    const texts = await Promise.all(answers.map(({ body }) => opensslReplyText(body)));
    const serials = texts.map(({ output }) => BigInt(/Serial number: (0x[0-9A-F]+)/.exec(output)![1]!));
    expect(new Set(serials).size).toBe(50);
    for (const serial of serials) {
      expect(serial).toBeGreaterThan(1n << 64n);
      expect(integer(serial).length).toBeLessThanOrEqual(22);
    }
  });

  test('remembers what it was asked', async () => {
    await postQuery(`${url}/some/path`, asked.der);
    expect(tsa.received).toMatchObject([{ method: 'POST', url: '/some/path', headers: { 'content-type': QUERY_TYPE }, body: asked.der }]);
  });

  test.each<[string, RequestInit, number]>([
    ['another method', { method: 'PUT' }, 405],
    ['another content type', { headers: { 'content-type': 'application/octet-stream' } }, 415],
    ['no content type', { headers: {} }, 415],
    ['more than 64 KiB', { body: Buffer.alloc(64 * 1024 + 1) }, 413],
  ])('%s is an HTTP error', async (_name, init, status) => {
    expect(await postQuery(url, asked.der, init)).toMatchObject({ status });
    expect((await judge((await postQuery(url, asked.der)).body)).ok).toBe(true);
  });

  test('parameters of the content type do not matter', async () => {
    const init = { headers: { 'content-type': 'Application/Timestamp-Query; charset=binary' } };
    expect((await judge((await postQuery(url, asked.der, init)).body)).ok).toBe(true);
  });

  test('octets that are no query get a rejection, not an HTTP error', async () => {
    const { status, body } = await postQuery(url, Buffer.from('hello'));
    expect(status).toBe(200);
    expect((await opensslReplyText(body)).output).toContain('Status: Rejected.');
  });
});

describe('faults of the development TSA', () => {
  test('come in the order in which they are queued, one for each request', async () => {
    tsa.failNext(createFault('status:503'), createFault('html'));
    expect((await postQuery(url, asked.der)).status).toBe(503);
    expect((await postQuery(url, asked.der)).headers.get('content-type')).toBe('text/html');
    expect((await judge((await postQuery(url, asked.der)).body)).ok).toBe(true);
  });

  test('stay until they are lifted', async () => {
    tsa.failAlways(createFault('status:500'));
    expect((await postQuery(url, asked.der)).status).toBe(500);
    expect((await postQuery(url, asked.der)).status).toBe(500);
    tsa.failAlways(undefined);
    expect((await postQuery(url, asked.der)).status).toBe(200);
  });

  test('may depend on the query', async () => {
    const picky = createTsaServer({
      pki,
      clock: () => nowMs,
      faultFor: (query) => (query.equals(asked.der) ? createFault('status:418') : undefined),
    });
    try {
      const address = await picky.listen();
      expect((await postQuery(address, asked.der)).status).toBe(418);
      expect((await postQuery(address, ask({ nonce: 5n }).der)).status).toBe(200);
    } finally {
      await picky.close();
    }
  });

  test('an unknown name or argument in the address is said, not ignored', async () => {
    for (const fault of ['nope', 'toString', 'slow:abc']) {
      const { status, body } = await postQuery(`${url}/?fault=${fault}`, asked.der);
      expect(status).toBe(400);
      expect(body.toString()).toMatch(/no fault is named|takes a whole number/);
    }
  });

  test('an address is obeyed only where that was wanted', async () => {
    const deaf = createTsaServer({ pki, clock: () => nowMs });
    try {
      expect((await postQuery(`${await deaf.listen()}/?fault=status:500`, asked.der)).status).toBe(200);
    } finally {
      await deaf.close();
    }
  });

  test.each(['cut', 'reset'])('%s: the connection breaks', async (fault) => {
    await expect(postQuery(`${url}/?fault=${fault}`, asked.der)).rejects.toThrow();
  });

  test.each(['hang', 'slow:86400000', 'drip:86400000', 'endless'])('%s: no end, until the client gives up', async (fault) => {
    const client = new AbortController();
    const answer = postQuery(`${url}/?fault=${fault}`, asked.der, { signal: client.signal });
    const outcome = expect(answer).rejects.toThrow('aborted');
    await vi.waitFor(() => expect(tsa.received).toHaveLength(1));
    client.abort();
    await outcome;
  });

  test('closing ends a hanging request', async () => {
    const lone = createTsaServer({ pki, clock: () => nowMs });
    lone.failNext(createFault('hang'));
    const outcome = expect(postQuery(await lone.listen(), asked.der)).rejects.toThrow();
    await vi.waitFor(() => expect(lone.received).toHaveLength(1));
    await lone.close();
    await outcome;
  });

  test.each(['slow:5', 'drip:0'])('%s: late, and true', async (fault) => {
    expect((await judge((await postQuery(`${url}/?fault=${fault}`, asked.der)).body)).ok).toBe(true);
  });

  test.each<[string, number, Record<string, string>]>([
    ['status', 500, { 'content-type': 'text/plain' }],
    ['status:503', 503, { 'content-type': 'text/plain' }],
    ['retry_after:7', 429, { 'retry-after': '7' }],
    ['redirect', 302, { location: '/' }],
    ['html', 200, { 'content-type': 'text/html' }],
    ['disguised_html', 200, { 'content-type': REPLY_TYPE }],
    ['content_type', 200, { 'content-type': 'application/octet-stream' }],
    ['content_type:text/plain', 200, { 'content-type': 'text/plain' }],
    ['empty', 200, { 'content-type': REPLY_TYPE }],
  ])('%s', async (fault, status, headers) => {
    const answer = await postQuery(`${url}/?fault=${fault}`, asked.der);
    expect(answer.status).toBe(status);
    for (const [name, value] of Object.entries(headers)) expect(answer.headers.get(name)).toBe(value);
  });

  test.each([
    ['truncated', 'not enough data'],
    ['rejected', 'status code: rejection'],
    ['refused:badAlg', 'failure codes: badAlg'],
    ['rejected_with_token', 'token present'],
    ['granted_without_token', 'token not present'],
    ['stale_nonce', 'nonce mismatch'],
    ['no_nonce', 'nonce not returned'],
    ['other_imprint', 'message imprint mismatch'],
    ['expired', 'certificate has expired'],
    ['bad_signature', 'signature failure'],
  ])('%s: OpenSSL says "%s"', async (fault, reason) => {
    const verified = await judge((await postQuery(`${url}/?fault=${fault}`, asked.der)).body);
    expect(verified.ok).toBe(false);
    expect(verified.output).toContain(reason);
  });

  test('other_policy is seen by a client that asked for one', async () => {
    const { der } = ask({ policy: DEVELOPMENT_POLICY });
    const { body } = await postQuery(`${url}/?fault=other_policy`, der);
    const verified = await opensslVerify({ answer: body, against: { query: der }, rootPem: pki.rootPem });
    expect(verified.output).toContain('policy mismatch');
  });

  // OpenSSL lets these through; they are what they say all the same.
  test.each<[string, (body: Buffer, text: string) => void]>([
    ['trailing', (body) => expect(body.length - 4 - body.readUInt16BE(2)).toBe(2)],
    ['granted_with_mods', (_body, text) => expect(text).toContain('Status: Granted with modifications.')],
    ['oversized', (body) => expect(body.length).toBeGreaterThan(1024 * 1024)],
    ['past:3600', (_body, text) => expect(text).toContain(opensslTime(nowMs - 3_600_000))],
    ['future:86400', (_body, text) => expect(text).toContain(opensslTime(nowMs + 86_400_000))],
  ])('%s', async (fault, check) => {
    nowMs = Math.floor(nowMs / 1000) * 1000;
    const { body } = await postQuery(`${url}/?fault=${fault}`, asked.der);
    expect((await judge(body)).ok).toBe(true);
    check(body, (await opensslReplyText(body)).output);
  });

  test('each one is in a test above', () => {
    const tested =
      `cut reset hang slow drip endless status retry_after redirect html disguised_html content_type empty truncated rejected refused
      rejected_with_token granted_without_token stale_nonce no_nonce other_imprint expired bad_signature other_policy trailing
      granted_with_mods oversized past future`.split(/\s+/);
    expect([...FAULT_NAMES].sort()).toEqual(tested.sort());
  });
});

/** As OpenSSL prints a genTime without a fraction, e.g. `Nov  1 12:00:00 2026 GMT`. */
function opensslTime(timeMs: number): string {
  const [, day, month, year, time] = /, (\d+) (\w+) (\d+) (\S+)/.exec(new Date(timeMs).toUTCString())!;
  return `${month} ${String(Number(day)).padStart(2)} ${time} ${year} GMT`;
}
