import accepts from '@fastify/accepts';
import { fastify } from 'fastify';
import { expect, test } from 'vitest';
import { prefersJson, prefersPage } from '../../../src/api/server/accept.ts';

const app = fastify();
app.register(accepts);
app.get('/', async (request) => ({ page: prefersPage(request), json: prefersJson(request) }));

const browser = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8';

test.each([
  [undefined, { page: false, json: false }],
  ['*/*', { page: false, json: false }],
  ['text/html', { page: true, json: false }],
  [browser, { page: true, json: false }],
  ['text/html, */*', { page: true, json: false }],
  ['text/html, application/json', { page: true, json: false }],
  ['text/html, application/json;q=0.9', { page: true, json: false }],
  ['application/json', { page: false, json: true }],
  ['Application/JSON; charset=utf-8', { page: false, json: true }],
  ['application/*', { page: false, json: true }],
  ['application/json, text/html', { page: false, json: true }],
  ['application/json, */*', { page: false, json: true }],
  ['application/json, text/plain, */*', { page: false, json: true }],
  ['text/html;q=0.5, application/json', { page: false, json: true }],
  ['application/json;q=0, */*', { page: true, json: false }],
])('E12, V8: Accept %j (RFC 9110 §12.5.1)', async (accept, preferred) => {
  const answer = await app.inject({ url: '/', headers: accept === undefined ? {} : { accept } });
  expect(answer.json()).toEqual(preferred);
});
