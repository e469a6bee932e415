import { pino } from 'pino';
import { expect, onTestFinished, test } from 'vitest';
import { createTreeHeadBuilder } from '../../src/shared/domain/proofs.ts';
import { hexOf } from '../../src/shared/proof/octets.js';
import { loadConfig } from '../../src/shared/runtime/config.ts';
import { openStore } from '../../src/shared/store/store.ts';
import { openPage } from '../support/chromium.ts';
import { patience } from '../support/pace.ts';
import { eventually, getJson, sha256 } from '../support/requests.ts';
import { openParts } from '../support/sample-pages.ts';
import { startProcesses } from '../support/service.ts';
import { completeWorkflow, startWorkflow } from '../support/workflows.ts';

const settings = { RATE_WORKFLOW_START_PER_HOUR: '0', RATE_WORKFLOW_STAMP_PER_MINUTE: '0' };

const rootOf = (hashes: readonly string[]): string => {
  const tree = createTreeHeadBuilder();
  for (const hash of hashes) tree.append(Buffer.from(hash, 'hex'));
  return hexOf(tree.head().rootHash);
};

/** Too little to hold 100 000 outputs at once, in addition to the 40 MiB of an idle process. */
const tightHeap = '--max-old-space-size=80';

test('W9: 100 000 outputs complete in bounded memory, and their page is shown in pages', async () => {
  const service = await startProcesses({ settings: { ...settings, STAMP_WAIT_MS: '120000', NODE_OPTIONS: tightHeap } });
  const workflow = await startWorkflow(service);
  const store = openStore(loadConfig(service.settings), pino({ level: 'silent' }));
  onTestFinished(() => store.close());
  const total = 100_000;
  const hashes = Array.from({ length: total }, (_, index) => sha256(`output ${index}`));
  for (let first = 0; first < total; first += 2_000) {
    const outputs = hashes.slice(first, first + 2_000).map((hash, index) => ({
      outputId: `output-${first + index}`,
      tokenId: `${workflow.id}-${first + index}`,
      hash,
      type: 'text',
      metadata: undefined,
      stampedAt: '2026-11-21T12:00:00.000Z',
      provider: 'mock',
      isQualified: false,
    }));
    // Each is appended once, however often it is tried: on a busy machine the store is slow.
    const append = () => store.outputs.append({ workflowId: workflow.id, briefingHash: workflow.briefingHash }, outputs);
    await eventually(
      () =>
        append().then(
          ({ size }) => size === outputs.length,
          () => false,
        ),
      60_000,
    );
  }
  const completed = await completeWorkflow(service, workflow);
  expect(completed.body.output_count, `${JSON.stringify(completed.body)}\n${service.output()}`).toBe(total);

  const html = await (await service.fetch(`/workflow/${workflow.id}?page=100`)).text();
  expect(html).toContain(rootOf(hashes));
  expect(html).toContain('id="output-100000"');
  // A page does not wait for a long chain: it shows the chain once earlier page views have recomputed it.
  const find = async () => (await service.fetch(`/workflow/${workflow.id}?find=${hashes[77_776]}`)).text();
  await eventually(async () => (await find()).includes('data-found="77777"'), 60_000);
  const { status, body } = await getJson(service, `/api/v1/workflow/${workflow.id}/proof?output_hash=${hashes[77_776]}`);
  expect([status, body.sequence_number, body.tree_size, body.root_hash]).toEqual([200, 77_777, total, rootOf(hashes)]);

  // W14: the browser recomputes them all on request, and stays responsive meanwhile.
  const page = await openPage();
  await page.goto(`${service.url}/workflow/${workflow.id}`);
  await openParts(page);
  await page.click('text=Recompute the record of all 100,000 files');
  await page.getByText(/^Recomputing: \d/).waitFor();
  await page.fill('#find', 'a reader writes');
  await page.locator('#in-browser-proof[data-state]').waitFor({ state: 'attached', timeout: patience(120_000) });
  expect(await page.innerText('#in-browser-proof')).toContain('Recomputed from all leaves, it is the same as on this page.');
  await page.context().setOffline(true);
  await page.setInputFiles('#file', { name: 'one', mimeType: 'text/plain', buffer: Buffer.from('output 77776') });
  // The outputs have no stamps in the store, so the page does not claim them. The number comes from the tree in the browser.
  await page.getByText('one is recorded as file 77777').waitFor();
});
