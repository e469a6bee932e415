import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createFault } from '../../src/tsa/faults.ts';
import { createPki } from '../../src/tsa/pki.ts';
import { createTsaServer, type TsaServer } from '../../src/tsa/server.ts';
import { opensslVerify } from '../support/openssl-tsa.ts';
import { postQuery } from '../support/tsa-client.ts';
import { ask } from '../support/tsa-lab.ts';

const pki = createPki({ nowMs: Date.now() });
const asked = ask();

let tsa: TsaServer;
let url: string;
beforeAll(async () => {
  tsa = createTsaServer({ pki, clock: Date.now, faultsInAddress: true });
  url = await tsa.listen();
});
afterAll(() => tsa.close());

const judge = (answer: Buffer) => opensslVerify({ answer, against: { query: asked.der }, rootPem: pki.rootPem });

describe('faults of the development TSA', () => {
  test('occur in the order queued, one for each request', async () => {
    tsa.failNext(createFault('status:503'), createFault('html'));
    expect((await postQuery(url, asked.der)).status).toBe(503);
    expect((await postQuery(url, asked.der)).headers.get('content-type')).toBe('text/html');
    expect((await judge((await postQuery(url, asked.der)).body)).ok).toBe(true);
  });

  test('give an error for an unknown name or argument in the address', async () => {
    for (const fault of ['nope', 'toString', 'slow:abc']) {
      const { status, body } = await postQuery(`${url}/?fault=${fault}`, asked.der);
      expect(status).toBe(400);
      expect(body.toString()).toMatch(/no fault is named|takes a whole number/);
    }
  });

  test.each([
    ['stale_nonce', 'nonce mismatch'],
    ['other_imprint', 'message imprint mismatch'],
    ['bad_signature', 'signature failure'],
  ])('%s: OpenSSL says "%s"', async (fault, reason) => {
    const verified = await judge((await postQuery(`${url}/?fault=${fault}`, asked.der)).body);
    expect(verified).toMatchObject({ ok: false, output: expect.stringContaining(reason) });
  });
});
