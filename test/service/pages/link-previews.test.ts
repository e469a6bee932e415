import { expect, test } from 'vitest';
import { workflowViewOf } from '../../../src/api/workflows/page.ts';
import { wordsOf } from '../../../src/shared/views/format.ts';
import { workflowSamples } from '../../support/page-samples.ts';
import { createPageServer } from '../../support/page-server.ts';

const app = await createPageServer();
const get = (path: string) => app.inject(path);
const contentOf = (html: string, property: string) => new RegExp(`<meta property="og:${property}" content="([^"]+)">`).exec(html)?.[1];

test.each([
  ['claimed', '2 files, 21 November 2026'],
  ['oneReal', '1 file, 21 November 2026'],
  ['completed', 'Test record: 12 files, 21 November 2026'],
  ['closedEmpty', 'Test record: no file, 21 November 2026'],
  ['named', '4 files, 21 November 2026'],
  ['broken', 'Record of an AI agent'],
])('a link to the record %s is shown as: %s', async (sample, title) => {
  const { body } = await get(`/workflow/${sample}`);
  expect(body).toContain(`<title>${title} · qstamp</title>`);
  expect(contentOf(body, 'title')).toBe(title);
});

test.each([
  ['active', '4 files so far, 21 November 2026'],
  ['expired', '4 files, 21 November 2026'],
] as const)('a link to a record that is %s is shown as: %s', (status, title) => {
  const page = { ...workflowSamples.named, status, proof: { kind: 'open' }, root: null, closingRecord: null } as const;
  expect(workflowViewOf(page)(wordsOf('en')).documentTitle).toBe(title);
});

test('a link is shown with a picture that other sites may show, and pages have icons', async () => {
  const { body } = await get('/');
  const picture = contentOf(body, 'image') ?? '';
  expect(picture).toMatch(/^https:\/\/stamps\.example\/assets\//);
  const { headers, rawPayload } = await get(new URL(picture).pathname);
  expect([headers['content-type'], headers['cross-origin-resource-policy']]).toEqual(['image/png', 'cross-origin']);
  expect([rawPayload.readUInt32BE(16), rawPayload.readUInt32BE(20)]).toEqual([1_200, 630]);
  const icons = [...body.matchAll(/<link rel="(?:icon|apple-touch-icon)" href="([^"]+)"/g)].map(([, path = '']) => path);
  const types = await Promise.all(icons.map(async (path) => (await get(path)).headers['content-type']));
  expect(types).toEqual(['image/x-icon', 'image/svg+xml', 'image/png']);
  expect(icons[0]).toBe('/favicon.ico');
});
