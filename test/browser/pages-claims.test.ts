import Fastify from 'fastify';
import type { Page } from 'playwright-core';
import { describe, expect, it, onTestFinished } from 'vitest';
import { registerViews } from '../../src/api/http/views.ts';
import { startPageOf } from '../../src/api/status/site-pages.ts';
import { openPage } from '../support/chromium.ts';
import { mainText } from '../support/page-text.ts';
import { sha256, stampAgent } from '../support/requests.ts';
import { type RunningService, sharedService } from '../support/service.ts';
import { sharedTsaService } from '../support/tsa-service.ts';
import { completeWorkflow, readPage, stampOutput, startWorkflow } from '../support/workflows.ts';

/** The parts of the page in the colour for proved facts. */
const inTheToneOfSuccess = (page: Page) =>
  page.evaluate<string[]>(`(() => {
    const probe = document.body.appendChild(document.createElement('i'));
    probe.style.color = 'var(--done)';
    const success = getComputedStyle(probe).color;
    probe.remove();
    return [...document.querySelectorAll('main *')]
      .filter((element) => {
        const { color, backgroundColor, borderLeftColor, borderLeftWidth } = getComputedStyle(element);
        const colours = [color, backgroundColor, borderLeftWidth === '0px' ? '' : borderLeftColor];
        return element.checkVisibility() && colours.includes(success);
      })
      .map((element) => element.outerHTML.slice(0, 120));
  })()`);

const content = Buffer.from('what is stamped');
const mine = { name: 'mine.txt', mimeType: 'text/plain', buffer: content };
const record = (token: string) => ({ ...mine, name: 'mine.txt.qstamp.json', buffer: Buffer.from(JSON.stringify({ stamp: { token } })) });

/** A stamp, and the path of a completed workflow with one output. */
async function stampedBy(service: RunningService) {
  const { body } = await stampAgent(service, 'basic', { hash: sha256(content) });
  const workflow = await startWorkflow(service, { tier: 'standard' });
  expect((await stampOutput(service, workflow, { output_hash: sha256(content) })).status).toBe(201);
  expect((await completeWorkflow(service, workflow)).status).toBe(200);
  const path = `/workflow/${workflow.id}`;
  // A busy process shows a record only when its chain is recomputed, for which this waits.
  await readPage(service, path);
  return { token: String(body.token), stamp: String(body.verify_url), workflow: path };
}

const drop = async (page: Page, ...files: (typeof mine)[]) => {
  await page.setInputFiles('#file', files);
  await page
    .getByText(/^Yes: /)
    .first()
    .waitFor();
};

describe('V9: a mock stamp is a test stamp on every page: in the warning colour, and never called valid', () => {
  it('the page of the stamp, /verify, and the page of a workflow, also on paper', async () => {
    const service = await sharedService();
    const { token, stamp, workflow } = await stampedBy(service);
    const paste = async (page: Page) => {
      await page.fill('#token', token);
      await page.fill('#hash', sha256(content));
      await page.getByRole('button', { name: 'Verify' }).click();
      await page
        .getByText(/^Yes: /)
        .first()
        .waitFor();
    };
    const recomputed = (page: Page) => page.locator('#in-browser-proof[data-state]').waitFor({ state: 'attached' });
    const page = await openPage();
    for (const [path, use] of [
      [stamp, () => drop(page, mine)],
      ['/verify', () => drop(page, mine, record(token))],
      ['/verify', () => paste(page)],
      [workflow, () => recomputed(page).then(() => drop(page, mine))],
      [
        `${workflow}?find=${sha256(content)}`,
        () =>
          page
            .getByText(/^Yes: /)
            .first()
            .waitFor(),
      ],
      [workflow, () => recomputed(page).then(() => page.emulateMedia({ media: 'print' }))],
    ] as const) {
      await page.goto(service.url + path);
      await use();
      expect(await inTheToneOfSuccess(page), path).toEqual([]);
      const shown = await page.innerText('main');
      expect(shown, path).toMatch(/test stamp/i);
      expect(shown, path).toContain('proves nothing to a third party');
      expect(shown, path).not.toMatch(/\bvalid\b|existed no later|without us/);
      for (const mark of await page.locator('.mark').allInnerTexts()) expect(mark, path).toBe('Test stamp');
    }
  });

  it('stamps and workflows of a TSA have the colour for proved facts; unqualified ones are marked on top', async () => {
    const { service: real } = await sharedTsaService();
    const { stamp, workflow } = await stampedBy(real);
    const page = await openPage();
    await page.goto(real.url + stamp);
    await drop(page, mine);
    expect(await inTheToneOfSuccess(page)).not.toEqual([]);
    expect(await page.innerText('main')).not.toMatch(/test stamp/i);
    await page.goto(real.url + workflow);
    expect(await inTheToneOfSuccess(page)).not.toEqual([]);
    expect(await page.innerText('main')).toContain('it is evidence, but no court');
  });
});

describe('the start page says what stamps of the provider prove', () => {
  const claims = {
    nothing: 'its stamps prove nothing to a third party',
    unknown: 'nothing is known about them',
    time: 'Anybody who trusts its certificates can check the time.',
    noPresumption: 'There is no legal presumption (eIDAS, Article 41(2)).',
    claimed: 'Only the operator of this service claims that it is qualified',
    listed: 'A trusted list of the EU grants its service.',
  };
  const before = '2026-11-21T11:46:05Z';

  it.each([
    ['mock: its stamps are for testing', 'mock', 'not_qualified', null, ['nothing']],
    ['a TSA that is not qualified: the time, and no legal presumption', 'acme', 'not_qualified', before, ['time', 'noPresumption']],
    ['a TSA that is qualified by the word of the operator: whose word it is', 'acme', 'operator', before, ['time', 'claimed']],
    ['a TSA that is qualified by a list: that a list says so', 'acme', 'list', before, ['time', 'listed']],
    ['nothing, while no stamp was made', 'acme', 'not_qualified', null, ['unknown']],
    ['nothing, while no stamp was made that could be qualified', 'acme', 'not_asked', null, ['unknown']],
  ] as const)('%s', async (_what, name, known, last_success_at, expected) => {
    const basis = known === 'list' || known === 'operator' ? known : null;
    const qualification = known === 'list' || known === 'operator' ? 'qualified' : known;
    const qualified = basis && { status: 'qualified' as const, basis, reason: null };
    const app = Fastify();
    onTestFinished(() => app.close());
    await registerViews(app, {
      operator: { name: 'Acme', url: 'https://acme.example', contact: 'help@acme.example' },
      addressOf: String,
    });
    const model = startPageOf('https://stamps.example', { name, qualification, qualified, last_success_at });
    app.get('/', (_, reply) => reply.page('start', model));
    const text = mainText((await app.inject('/')).body);
    expect(text).not.toContain('It existed then');
    expect(Object.entries(claims).flatMap(([claim, words]) => (text.includes(words) ? [claim] : []))).toEqual(expected);
  });
});
