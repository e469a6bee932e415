import { describe, expect, test } from 'vitest';
import {
  eventually,
  getJson,
  internalHeaders,
  postJson,
  randomHash,
  sha256,
  stampAgent,
  stampInternal,
  verifyById,
  verifyRaw,
} from '../../support/requests.ts';
import { ownProduct, sharedService } from '../../support/service.ts';

const service = await sharedService();

const uuidV7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

describe('a stamp from request to proof', () => {
  test('a hash is stamped with 201 and verifies by id and raw (S7, S8, V1, V2)', async () => {
    const hash = randomHash();
    const askedAt = Date.now();
    const { status, body } = await stampInternal(service, { hash });
    expect(status).toBe(201);
    const issuedAt = Date.parse(String(body.issued_at));
    expect([issuedAt >= askedAt, issuedAt <= Date.now()]).toEqual([true, true]);
    expect(body).toEqual({
      token_id: expect.stringMatching(uuidV7),
      issued_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      content_sha256: hash,
      imprint: { algorithm: 'sha256', digest: hash },
      token: expect.any(String),
      tier: 'basic',
      tsp_provider: 'mock',
      is_qualified: false,
      qualified: { status: 'not_qualified', basis: null, reason: 'mock_provider: The mock provider made it.' },
      verify_url: `/api/v1/verify/v1/token/${body.token_id}`,
      sealed_storage_url: null,
    });
    const expected = {
      valid: true,
      token_id: body.token_id,
      issued_at: body.issued_at,
      content_sha256: hash,
      imprint: { algorithm: 'sha256', digest: hash },
      tsp_provider: 'mock',
      is_qualified: false,
      not_checked: expect.arrayContaining([expect.stringContaining('mock token')]),
      reason: null,
    };
    expect((await verifyById(service, body.token_id)).body).toMatchObject(expected);
    expect((await verifyRaw(service, body.token)).body).toMatchObject(expected);
  });

  test('answers have the fields of interface.md alone, unless the client asks for details (E15)', async () => {
    const ofStamp = 'content_sha256 is_qualified issued_at sealed_storage_url tier token token_id tsp_provider verify_url'.split(' ');
    const ofItem = 'content_sha256 is_qualified issued_at tier token_id'.split(' ');
    const ofVerdict = 'content_sha256 is_qualified issued_at reason token_id tsp_provider valid'.split(' ');
    const own = ownProduct();
    const hash = { hash: randomHash() };
    const { body: stamp } = await postJson(service, '/api/v1/internal/v1/stamp', hash, own.headers);
    const { token, token_id } = stamp;
    const namesOf = (answer: object) => Object.keys(answer).sort();
    const answers: [string, unknown, readonly string[]][] = [
      ['/api/v1/agent/v1/stamp/basic', hash, ofStamp],
      ['/api/v1/agent/v1/stamp/sealed', { content_b64: 'aGVsbG8=' }, ofStamp],
      ['/api/v1/agent/v1/stamps', [hash], ofStamp],
      ['/api/v1/internal/v1/stamp', hash, ofStamp],
      ['/api/v1/internal/v1/stamps', [hash], ofStamp],
      ['/api/v1/internal/v1/stamps', undefined, ofItem],
      ['/api/v1/verify/v1/raw', { token }, ofVerdict],
      ['/api/v1/verify/v1/raw', { token: 'no token' }, ofVerdict],
      ['/api/v1/internal/v1/verify', { token }, ofVerdict],
      [`/api/v1/verify/v1/token/${token_id}`, undefined, ofVerdict],
      [`/api/v1/verify/v1/token/${crypto.randomUUID()}`, undefined, ofVerdict],
    ];
    for (const [path, body, fields] of answers) {
      const ask = async (query: string, headers: Record<string, string> = {}) => {
        const all = { ...own.headers, ...headers };
        const answer = body ? await postJson(service, path + query, body, all) : await getJson(service, path + query, all);
        const [first = answer.body] = Array.isArray(answer.body) ? answer.body : ((answer.body.items as object[] | undefined) ?? []);
        return namesOf(first);
      };
      expect(await ask(''), path).toEqual(fields);
      expect(await ask('?details=false'), path).toEqual(fields);
      const detailed = await ask('?details=true');
      expect(detailed, path).toEqual(expect.arrayContaining([...fields, 'imprint']));
      expect(await ask('', { prefer: 'return=details' }), path).toEqual(detailed);
    }
    const { status, body } = await getJson(service, `/api/v1/verify/v1/token/${token_id}?details=maybe`);
    expect([status, body]).toMatchObject([422, { detail: [{ type: 'bool_parsing', loc: ['query', 'details'] }] }]);
  });

  test.each(['basic', 'plus', 'sealed'])('on the agent path %s the path sets the tier, whatever the body says (S5)', async (tier) => {
    const { status, body } = await stampAgent(service, tier, { hash: randomHash(), tier: 'basic' });
    expect(status).toBe(201);
    expect(body.tier).toBe(tier);
  });

  test('stamping a hash twice gives two stamps; their ids may be written without hyphens and in upper case', async () => {
    const hash = randomHash();
    const [first, second] = await Promise.all([stampInternal(service, { hash }), stampInternal(service, { hash })]);
    expect(first.body.token_id).not.toBe(second.body.token_id);
    const id = String(first.body.token_id).replaceAll('-', '').toUpperCase();
    expect((await verifyById(service, id)).body).toMatchObject({ valid: true, token_id: first.body.token_id });
  });
});

describe('the mock token', () => {
  test('a flipped bit anywhere is invalid, with a reason code (V1, V3, V4)', async () => {
    const { body } = await stampInternal(service, { hash: randomHash() });
    const bytes = Buffer.from(body.token as string, 'base64');
    const answers = await Promise.all(
      [...bytes.keys()].flatMap((index) =>
        [0, 3, 7].map(async (bit) => {
          const flipped = Buffer.from(bytes);
          flipped[index] = (flipped[index] ?? 0) ^ (1 << bit);
          return (await verifyRaw(service, flipped.toString('base64'))).body;
        }),
      ),
    );
    for (const answer of answers) expect(answer).toMatchObject({ valid: false, reason: expect.stringMatching(/^[a-z0-9_]+: \S/) });
  });

  test('a changed, removed or added character is invalid', async () => {
    const { body } = await stampInternal(service, { hash: randomHash() });
    const token = body.token as string;
    const otherAlphabet = token.replace(/\+/g, '-').replace(/\//g, '_').slice(1);
    const damaged = [token.slice(0, -1), `${token}=`, `${token}AAAA`, otherAlphabet, token.toLowerCase(), ''];
    for (const text of damaged) expect((await verifyRaw(service, text)).body, JSON.stringify(text)).toMatchObject({ valid: false });
  });
});

describe('an idempotency key (S9)', () => {
  test('gives the first answer again; sealed content is returned byte for byte at its secret address only (S11)', async () => {
    const content = Buffer.from('the contract, signed\n');
    const request = { content_b64: content.toString('base64'), tier: 'sealed', metadata: { a: 'b' } };
    const headers = { 'idempotency-key': `key-${randomHash()}` };
    const first = await stampInternal(service, request, headers);
    expect(first).toMatchObject({ status: 201, body: { content_sha256: sha256(content), tier: 'sealed' } });
    const second = await stampInternal(service, request, headers);
    expect([second.status, second.body]).toEqual([201, first.body]);
    expect([first, second].map((answer) => answer.headers.get('idempotent-replayed'))).toEqual([null, 'true']);
    const address = second.body.sealed_storage_url as string;
    const download = await service.fetch(address);
    expect([download.status, Buffer.from(await download.arrayBuffer())]).toEqual([200, content]);
    expect((await service.fetch(`${address.slice(0, -1)}${address.endsWith('A') ? 'B' : 'A'}`)).status).toBe(404);
  });

  test('is bound to the caller and the body; order of members and payment claim do not matter', async () => {
    const hash = randomHash();
    const headers = { 'idempotency-key': `key-${randomHash()}` };
    const stamp = (metadata: object, claim: string) =>
      stampAgent(service, 'basic', { hash, metadata }, { ...headers, 'x-payment-transaction': claim });
    const first = await stamp({ a: '1', b: '2' }, 'x');
    const second = await stamp({ b: '2', a: '1' }, 'y');
    expect([second.status, second.headers.get('idempotent-replayed'), second.body]).toEqual([201, 'true', first.body]);
    expect((await stamp({ a: '1', b: '3' }, 'x')).status).toBe(409);
    const [one, other] = [{}, { 'x-service-token': 'other-service-token' }].map((as) =>
      stampInternal(service, { hash }, { ...headers, ...as }),
    );
    expect((await one)?.body.token_id).not.toBe((await other)?.body.token_id);
  });
});

describe('the stamps that a product sees (S12)', () => {
  const other = { 'x-service-token': 'other-service-token' };

  test('are its own, newest first, with a total of all', async () => {
    const before = (await getJson(service, '/api/v1/internal/v1/stamps', other)).body.total as number;
    const hashes = [randomHash(), randomHash(), randomHash()];
    for (const hash of hashes) await stampInternal(service, { hash }, other);
    const { body } = await getJson(service, '/api/v1/internal/v1/stamps?limit=2&offset=1', other);
    expect(body.total).toBe(before + 3);
    expect((body.items as { content_sha256: string }[]).map(({ content_sha256 }) => content_sha256)).toEqual([hashes[1], hashes[0]]);
    const { body: mine } = await getJson(service, '/api/v1/internal/v1/stamps?limit=500', internalHeaders);
    expect(hashes.filter((hash) => JSON.stringify(mine).includes(hash))).toEqual([]);
  });

  test('include every answered stamp in the total, however soon it is read', async () => {
    const totalOf = async () => (await getJson(service, '/api/v1/internal/v1/stamps?limit=1', other)).body.total as number;
    const before = await totalOf();
    for (let round = 1; round <= 5; round += 1) {
      await Promise.all(Array.from({ length: 3 }, () => stampInternal(service, { hash: randomHash() }, other)));
      await stampInternal(service, { hash: randomHash() }, other);
      expect(await totalOf()).toBe(before + 4 * round);
    }
  });

  test('are never more on a page than in the total, also during other requests', async () => {
    let isStamping = true;
    const stampSome = async () => {
      for (let stamp = 0; stamp < 20; stamp += 1) await stampInternal(service, { hash: randomHash() }, other);
    };
    const stamping = Promise.all(Array.from({ length: 8 }, stampSome)).finally(() => (isStamping = false));
    const pages: { offset: number; shown: number; total: number }[] = [];
    for (let offset = 0; isStamping; offset = (offset + 20) % 60) {
      const { body } = await getJson(service, `/api/v1/internal/v1/stamps?limit=500&offset=${offset}`, other);
      pages.push({ offset, shown: (body.items as unknown[]).length, total: body.total as number });
    }
    await stamping;
    expect(pages.length).toBeGreaterThan(5);
    const told = pages.filter(({ shown }) => shown > 0);
    expect(told.filter(({ offset, shown, total }) => total < offset + shown)).toEqual([]);
  });
});

describe('daily statistics', () => {
  test('count the stamps of today, by provider, qualification and kind of caller', async () => {
    const rowOf = async (kind: string) => {
      const { body } = await getJson(service, '/api/v1/internal/stats/daily?days=1', internalHeaders);
      return (body as unknown as { caller_kind: string; stamps: number; latency_ms_p50: number | null }[]).find(
        ({ caller_kind }) => caller_kind === kind,
      );
    };
    const before = (await rowOf('agent'))?.stamps ?? 0;
    await stampAgent(service, 'basic', { hash: randomHash() });
    const row = await eventually(async () => {
      const read = await rowOf('agent');
      return read?.stamps === before + 1 && read;
    });
    expect(row).toEqual({
      date: new Date().toISOString().slice(0, 10),
      provider: 'mock',
      is_qualified: false,
      caller_kind: 'agent',
      stamps: before + 1,
      failed: 0,
      latency_ms_p50: expect.any(Number),
      latency_ms_p95: expect.any(Number),
    });
  });
});
