import { type FastifyRequest, fastify } from 'fastify';
import { expect, test } from 'vitest';
import { page } from '../../../src/api/http/operation.ts';
import { wantsJson, wantsPage } from '../../../src/api/http/views.ts';

const app = fastify();
const formContract = { id: 'form', tag: 'Test', summary: 'A form', answers: { 200: page('The answer.') } };
const pages: boolean[] = [];
const tell = async (request: FastifyRequest) => {
  pages.push(wantsPage(request));
  return { page: wantsPage(request), json: wantsJson(request) };
};
app.get('/', tell);
app.post('/', tell);
app.post('/form', { config: { contract: formContract } }, tell);

const browser = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8';
const java = 'text/html, image/gif, image/jpeg, */*; q=0.2';
const axios = 'application/json, text/plain, */*';

test.each([
  [undefined, { page: false, json: false }],
  ['*/*', { page: false, json: false }],
  [browser, { page: true, json: false }],
  ['Application/XHTML+XML', { page: true, json: false }],
  ['application/xhtml+xml;q=0, */*', { page: false, json: false }],
  [java, { page: false, json: false }],
  ['text/html', { page: false, json: false }],
  [axios, { page: false, json: false }],
  ['application/json, */*', { page: false, json: false }],
  ['application/json', { page: false, json: true }],
  ['Application/JSON; charset=utf-8', { page: false, json: true }],
  ['text/html;q=0.5, application/json', { page: false, json: true }],
  ['application/json;q=0.0', { page: false, json: false }],
])('E12, V8: Accept %j', async (accept, wanted) => {
  const answer = await app.inject({ url: '/', headers: accept === undefined ? {} : { accept } });
  expect(answer.json()).toEqual(wanted);
});

test.each([
  ['GET', '/', { 'sec-fetch-mode': 'navigate' }, true],
  ['HEAD', '/', { 'sec-fetch-mode': 'navigate' }, true],
  ['GET', '/', { 'sec-fetch-mode': 'cors' }, false],
  ['POST', '/', { 'sec-fetch-mode': 'navigate', accept: browser }, false],
  ['POST', '/form', { 'sec-fetch-mode': 'navigate' }, true],
  ['POST', '/form', { accept: browser }, true],
  ['POST', '/form', { accept: java }, false],
] as const)('V8: %s %s with %j', async (method, url, headers, isPage) => {
  const answer = await app.inject({ method, url, headers });
  if (method !== 'HEAD') expect(answer.json()).toMatchObject({ page: isPage });
  expect(pages.at(-1)).toBe(isPage);
});
