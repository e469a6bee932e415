import { expect, test } from 'vitest';
import { prefersJson, prefersPage } from '../../../src/api/http/accept.ts';

test.each([
  [undefined, false],
  ['', false],
  ['*/*', false],
  ['text/html', false],
  ['application/json', true],
  ['Application/JSON; charset=utf-8', true],
  ['application/*', true],
  ['application/json, text/html', false],
  ['text/html;q=0.5, application/json', true],
  ['text/html, application/json;q=0.9', false],
  ['application/json, */*;q=0.1', true],
  ['application/json, text/plain, */*', true],
  ['application/json, */*', true],
  ['application/*, */*', true],
  ['application/json;q=0, */*', false],
  ['application/json;q=0', false],
  ['text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8', false],
])('E12: Accept %j prefers JSON: %s (RFC 9110 §12.5.1)', (accept, expected) => {
  expect(prefersJson(accept)).toBe(expected);
});

test.each([
  [undefined, false],
  ['*/*', false],
  ['application/json', false],
  ['application/json, text/html', false],
  ['application/json, text/plain, */*', false],
  ['text/html, */*', true],
  ['text/html', true],
  ['text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8', true],
])('Accept %j prefers a page: %s', (accept, expected) => {
  expect(prefersPage(accept)).toBe(expected);
});
