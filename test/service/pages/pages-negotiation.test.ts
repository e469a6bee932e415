import { describe, expect, it } from 'vitest';
import { postJson, randomHash } from '../../support/requests.ts';
import { sharedService } from '../../support/service.ts';

const service = await sharedService();

const browser = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8';
const unknown = '01995f3a-7c1e-7d0b-9a52-3f2b8c6d4e10';
const ask = async (path: string, accept: string, init: RequestInit = {}) => {
  const response = await service.fetch(path, { ...init, headers: { ...(init.headers as Record<string, string>), accept } });
  return { status: response.status, type: response.headers.get('content-type'), headers: response.headers, text: await response.text() };
};

describe('V8: a browser gets a page and a program gets JSON at the same address', () => {
  it.each([
    [`/workflow/${unknown}`, 404, 'No such record'],
    ['/workflow/not-a-number', 422, 'This address is not complete'],
    [`/api/v1/workflow/${unknown}/verify-user?challenge=x`, 404, 'This link leads nowhere'],
    ['/api/v1/workflow/cut/verify-user', 422, 'Nothing was confirmed.'],
    [`/api/v1/verify/v1/token/${unknown}`, 200, 'No such stamp'],
    ['/api/v1/verify/v1/token/cut', 422, 'This address is not complete'],
    [`/api/v1/verify/v1/token/${unknown}/tsr`, 404, 'There is no stamp with this id.'],
    [`/api/v1/sealed/v1/${unknown}/secret`, 404, 'Nothing to fetch here'],
    ['/api/v1/sealed/v1/cut/secret', 422, 'This address is not complete'],
    ['/nowhere', 404, 'No such page'],
    ['/api/v1/agent/v1/stamp/basic', 405, 'Not possible here'],
  ])('%s: %i', async (path, status, sentence) => {
    const page = await ask(path, browser);
    expect([page.status, page.type]).toEqual([status, 'text/html; charset=utf-8']);
    expect(page.text).toContain(sentence);
    expect(page.headers.get('vary')).toContain('Accept');
    const json = await ask(path, 'application/json');
    if (json.type?.startsWith('application/json')) expect(json.status).toBe(status);
    else expect(path, 'only the page of a workflow is always one').toBe(`/workflow/${unknown}`);
  });

  it('verify_url gives a program valid or not, and a person a sentence', async () => {
    const { body } = await postJson(service, '/api/v1/agent/v1/stamp/basic', { hash: randomHash() });
    const path = String(body.verify_url);
    expect(JSON.parse((await ask(path, '*/*')).text)).toMatchObject({ valid: true, token_id: body.token_id });
    const page = await ask(path, browser);
    expect(page.text).toContain('This is a test stamp');
    expect(page.text).toContain(`<span class="address">${service.url}${path}</span>`);
  });
});

describe('/verify', () => {
  const send = (fields: Record<string, string>) => ask('/verify', browser, { method: 'POST', body: new URLSearchParams(fields) });

  it('shows the verdict on a pasted token, even with line breaks', async () => {
    const hash = randomHash();
    const { body } = await postJson(service, '/api/v1/agent/v1/stamp/basic', { hash });
    const lines = String(body.token).replace(/.{40}/g, '$&\n');
    const { status, text } = await send({ token: lines, hash: hash.toUpperCase() });
    expect(status).toBe(200);
    expect(text).toContain('This is a test stamp');
    expect(text).toMatch(/Yes: this is the fingerprint that was stamped\.<\/strong> This stamp is for trials/);
    expect((await send({ token: 'rubbish' })).text).toContain('not_base64:');
  });

  it('refuses a body that is not a form or is too large, as a page', async () => {
    expect((await send({})).text).toContain('The form is not complete');
    const large = await send({ token: 'A'.repeat(4_000_000) });
    expect([large.status, large.type]).toEqual([413, 'text/html; charset=utf-8']);
  });

  it('no other operation accepts a form', async () => {
    const { status } = await ask('/api/v1/verify/v1/raw', '*/*', { method: 'POST', body: new URLSearchParams({ token: 'x' }) });
    expect(status).toBe(422);
  });
});

describe('anchors of outputs', () => {
  it('lead to the right page without JavaScript', async () => {
    const response = await service.fetch(`/workflow/${unknown}?output=2500`, { redirect: 'manual' });
    expect([response.status, response.headers.get('location')]).toEqual([303, `/workflow/${unknown}?page=3#output-2500`]);
  });
});
