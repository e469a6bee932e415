import { afterAll, beforeAll, expect, test } from 'vitest';
import { developmentPolicy, developmentSentence } from '../../../src/shared/domain/qualification.ts';
import { type BundleLab, runScript, startBundleLab } from '../../support/bundle-lab.ts';
import { folderWith } from '../../support/cli.ts';
import { callTool } from '../../support/mcp.ts';
import { mainText } from '../../support/page-text.ts';
import { openVerifyPage } from '../../support/page-verdict.ts';
import { eventually, sha256, stampInternal, verifyById } from '../../support/requests.ts';
import { startTsa } from '../../support/tsa-service.ts';

/** The development TSA is amber everywhere, as the mock provider is: the operator holds its key (V9). */

const ends: (() => void | Promise<void>)[] = [];
const onEnd = (close: () => void | Promise<void>) => void ends.push(close);
let lab: BundleLab;
beforeAll(async () => {
  lab = await startBundleLab(onEnd, {}, await startTsa({ onEnd, policy: developmentPolicy }), { RATE_STATUS_PER_MINUTE: '0' });
});
afterAll(async () => {
  for (const end of ends.reverse()) await end();
});

const pageAt = async (path: string) => {
  const html = await (await lab.service.fetch(path, { headers: { accept: 'application/xhtml+xml' } })).text();
  return { html, text: mainText(html) };
};
const noThirdParty = 'It proves nothing to a third party.';

test('a stamp: the answer, its page, the command and the tool of assistants say so', async () => {
  const { body } = await stampInternal(lab.service, { hash: sha256('a') });
  const qualified = { status: 'not_qualified', basis: null, reason: expect.stringMatching(/^development_tsa: .*for trials/) };
  expect(body).toMatchObject({ is_qualified: false, qualified });
  expect((await verifyById(lab.service, body.token_id)).body).toMatchObject({ valid: true, policy: developmentPolicy, qualified });

  const { html, text } = await pageAt(String(body.verify_url));
  expect(text).toContain(`${developmentSentence} ${noThirdParty}`);
  expect(text).not.toMatch(/This stamp is valid|This is evidence|It is evidence/);
  expect(html).toContain('class="verdict verdict-test"');

  const { structuredContent } = await callTool(lab.service, 'verify_file_hash', { sha256_hex: sha256('a'), token_id: body.token_id });
  expect(structuredContent).toMatchObject({ verified: false, reason: `development_stamp: ${developmentSentence} ${noThirdParty}` });

  const { run } = folderWith({ a: 'a', 'root.pem': lab.tsa.pki.rootPem });
  const told = await run(['verify', '--ca', 'root.pem', '--token', String(body.token), 'a']);
  expect([told.code, told.stdout]).toEqual([0, expect.stringContaining(`\n  ${developmentSentence}\n`)]);

  const status = await eventually(async () => {
    const shown = await pageAt('/status');
    return shown.text.includes('for trials: its operator holds the key') ? shown : undefined;
  });
  expect(status.html).not.toContain('not a qualified trust service');
  expect((await pageAt('/')).text).toContain(developmentSentence);
});

test('a workflow: its page, its bundle in command, page and verify.py, and the tool of assistants say so', async () => {
  const { workflow, zip, files } = await lab.completed(['a', 'b']);
  const { html, text } = await pageAt(`/workflow/${workflow.id}`);
  expect(text).toContain(`${developmentSentence} ${noThirdParty}`);
  expect(text).not.toMatch(/It existed|They existed/);
  expect(html).toContain('class="certificate is-test"');

  const { run } = folderWith({ 'bundle.zip': zip, 'root.pem': lab.tsa.pki.rootPem, a: 'a' });
  const { code, stdout } = await run(['verify', '--ca', 'root.pem', 'bundle.zip', 'a']);
  expect([code, stdout.split(developmentSentence).length]).toEqual([0, 3]);

  const ask = await openVerifyPage(onEnd);
  const shown = await ask(lab.service.url, zip, { a: 'a' });
  expect([shown.verdict, shown.text]).toEqual(['test', expect.stringContaining(`${developmentSentence} ${noThirdParty}`)]);
  expect(shown.text).toMatch(/Yes: a is in this record\.\s+The stamps are for trials: they prove nothing to a third party\./);

  const script = await runScript(new Map([...files, ['../root.pem', Buffer.from(lab.tsa.pki.rootPem)]]), ['--ca', 'root.pem']);
  expect([script.code, script.output]).toEqual([
    0,
    expect.stringContaining('development time-stamp, for trials: the operator holds the key'),
  ]);

  const { structuredContent } = await callTool(lab.service, 'verify_file_hash', { sha256_hex: sha256('a'), workflow_id: workflow.id });
  expect(structuredContent).toMatchObject({ verified: false, reason: expect.stringMatching(/^development_stamp: /) });
});
