import { readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { expect, test } from 'vitest';
import { openPage } from '../support/chromium.ts';
import { folderWith } from '../support/cli.ts';
import { type RunningService, sharedService } from '../support/service.ts';
import { sharedTsaService } from '../support/tsa-service.ts';

const start = ['workflow', 'start', '--email', 'client@example.com', '--agent', 'agent-7', '--briefing', 'briefing.md'];

/** A folder with files that the command saved with this service, and the page `/verify` of this service. */
async function savedWith(service: RunningService, ...lines: string[][]) {
  const { run, path, json } = folderWith({ 'report.pdf': 'report', 'logo.png': 'png', 'briefing.md': 'a logo' }, { url: service.url });
  for (const line of lines) expect(await run(line)).toMatchObject({ code: 0, stderr: '' });
  const page = await openPage();
  const sent: string[] = [];
  page.on('request', (request) => request.method() === 'POST' && sent.push(request.postData() ?? ''));
  /** Opens the page and drops these files on it. */
  const drop = async (...names: string[]) => {
    await page.goto(`${service.url}/verify`);
    const read = (name: string) => ({ name: basename(name), mimeType: 'application/octet-stream', buffer: readFileSync(path(name)) });
    await page.setInputFiles('#file', names.map(read));
  };
  return { page, sent, drop, json };
}

test('/verify verifies the stamps that the command saved: of a file, of an output of a workflow, and in a container', async () => {
  const { service } = await sharedTsaService();
  const lines = [['stamp', 'report.pdf'], start, ['workflow', 'add', 'logo.png'], ['pack', 'report.pdf']];
  const { page, sent, drop, json } = await savedWith(service, ...lines);
  expect(json('logo.png.qstamp.json')).toMatchObject({ kind: 'workflow_output', token: expect.any(String) });
  for (const names of [['report.pdf', 'report.pdf.qstamp.json'], ['logo.png.qstamp.json', 'logo.png'], ['report.pdf.asics']]) {
    await drop(...names);
    await page.getByRole('heading', { name: 'This stamp is valid' }).waitFor();
    await page.getByText(/^Yes: .* is unchanged since/).waitFor();
  }
  expect(sent).toHaveLength(3);
});

test('/verify says what to do with a test stamp of a workflow, and with the secret file of a workflow, and sends neither', async () => {
  const service = await sharedService();
  const { page, sent, drop, json } = await savedWith(service, start, ['workflow', 'add', 'logo.png']);
  const { output, token } = json('logo.png.qstamp.json');
  expect(token).toBeNull();

  await drop('logo.png', 'qstamp-workflow.json');
  await page.getByText('Keep it secret. qstamp-workflow.json is not a stamp: it contains the secret token of a record').waitFor();
  await page.getByText('logo.png waits for its stamp').waitFor();

  await drop('logo.png.qstamp.json');
  await page.getByText('Not verified. logo.png.qstamp.json has no token, so nothing in it can be verified.').waitFor();
  expect(sent).toEqual([]);
  await page.getByRole('link', { name: 'the page of this stamp' }).click();
  await page.waitForURL(`**/token/${output.stamp_token_id}`);
  await page.getByRole('heading', { level: 1, name: 'This is a test stamp' }).waitFor();
});
