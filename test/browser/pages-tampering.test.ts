import { randomBytes } from 'node:crypto';
import { pino } from 'pino';
import { expect, onTestFinished, test } from 'vitest';
import { encryptText } from '../../src/shared/domain/encryption.ts';
import { loadConfig } from '../../src/shared/runtime/config.ts';
import { openStore } from '../../src/shared/store/store.ts';
import { openPage } from '../support/chromium.ts';
import { collectionOf, openDatabase } from '../support/database.ts';
import { plainText } from '../support/page-text.ts';
import { sha256 } from '../support/requests.ts';
import { type RunningService, startService } from '../support/service.ts';
import { sharedTsaService } from '../support/tsa-service.ts';
import { completeWorkflow, readPage, stampOutput, startWorkflow } from '../support/workflows.ts';

const { service } = await sharedTsaService({ qualified: true });

type Table = ReturnType<typeof collectionOf>;

const asBrowser = { headers: { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' } };

/** The text that a person reads, with single spaces only. */
const wordsOf = (html: string): string => plainText(html.replace(/<head>.*<\/head>/s, '')).replace(/\s+/g, ' ');

const readWords = async (at: RunningService, path: string): Promise<string> => wordsOf(await readPage(at, path, asBrowser));

/** A workflow with the outputs `one`, `two` and `three`. */
async function completedWorkflow() {
  const workflow = await startWorkflow(service, { briefing_hash: sha256('briefing') });
  for (const content of ['one', 'two', 'three']) await stampOutput(service, workflow, { output_hash: sha256(content) });
  expect((await completeWorkflow(service, workflow)).status).toBe(200);
  return workflow;
}

const claims = /Qualified|covers th|Record closed|fits together|existed/;

test('V9: after any change in the database, the page first reports the mismatch, and claims nothing', async () => {
  const workflow = await completedWorkflow();
  const read = (path = `/workflow/${workflow.id}`) => readWords(service, path);

  const untouched = await read();
  for (const claim of ['Record closed', '3 files for', 'They existed on', 'fits together', 'Qualified', 'The record is closed:'])
    expect(untouched).toContain(claim);
  expect(untouched).not.toContain('Not qualified');

  const db = await openDatabase(service);
  const [outputs, stamps, workflows] = ['outputs', 'stamps', 'workflows'].map((name) => collectionOf(db, name)) as [Table, Table, Table];
  const second = `${workflow.id}/000000000002`;
  const closing = `${workflow.id}/000000000004`;
  const stored = await outputs.findOne({ _id: second });
  const stampId = String(stored?.tokenId);
  const other = sha256('other');

  const places = {
    output: [outputs, second],
    end: [outputs, closing],
    stamp: [stamps, stampId],
    workflow: [workflows, workflow.id],
  } as const;
  const year2001 = '2001-01-01T00:00:00Z';
  const notThree = (count: number) => `Number of files when the record was closed: ${count}; now: 3.`;
  const outputRefused = 'The stamp of file 2 does not verify. record_mismatch:';
  const sealRefused = 'The stamp of the closing record does not verify.';
  const shownAs = (what: string) => `The ${what} on this page differs from`;
  const changes: [what: string, place: keyof typeof places, change: Record<string, unknown>, said: string][] = [
    ['the hash of an output', 'output', { hash: other }, 'The chain breaks at file 2'],
    ['a chain hash', 'output', { chainHash: other }, 'The chain breaks at file 2'],
    ['the time of an output', 'output', { stampedAt: year2001 }, outputRefused],
    ['the provider of an output', 'output', { provider: 'grand-qtsa' }, outputRefused],
    ['the time of a stamp', 'stamp', { 'proofs.0.issuedAt': year2001 }, 'record_mismatch:'],
    ['the imprint of a stamp', 'stamp', { 'imprint.digest': other }, 'record_mismatch:'],
    ['a hash that is none', 'output', { hash: 'none' }, 'The chain breaks at file 2'],
    ['a time that is none', 'output', { stampedAt: 'yesterday' }, outputRefused],
    ['the number of an output', 'output', { sequenceNumber: 7 }, 'File 2 is missing, or in the wrong place.'],
    ['the number that the chain was closed at', 'end', { sequenceNumber: 7 }, notThree(6)],
    ['the end of the chain', 'end', { chainHash: other }, 'The chain breaks at file 3'],
    ['a briefing that is none', 'workflow', { briefingHash: 'none' }, 'The chain breaks at file 1'],
    ['the briefing', 'workflow', { briefingHash: other }, 'The chain breaks at file 1'],
    ['the root', 'workflow', { 'root.hash': other }, 'The Merkle root of these files differs from the recorded one.'],
    ['the number of outputs', 'workflow', { 'root.outputCount': 4 }, notThree(4)],
    ['the stamp of the root', 'workflow', { 'closing.rootTokenId': stampId }, 'Merkle root does not verify. imprint_mismatch:'],
    ['the tier', 'workflow', { tier: 'verified' }, `${shownAs('tier')} the one at the closing of the record.`],
    ['the start', 'workflow', { createdAt: new Date(0) }, shownAs('start')],
    ['the confirmation', 'workflow', { emailVerifiedAt: new Date(0) }, shownAs('confirmation of the address')],
    ['the completion', 'workflow', { completedAt: new Date(0) }, shownAs('completion')],
    ['the status', 'workflow', { status: 'active' }, shownAs('status')],
    ['the status, back to closing', 'workflow', { status: 'closing' }, shownAs('status')],
    ['the closing record', 'workflow', { closingRecord: null }, `${sealRefused} record_mismatch:`],
    ['the text of the closing record', 'workflow', { 'closingRecord.text': '{}' }, `${sealRefused} imprint_mismatch:`],
    ['the stamp of the closing record', 'workflow', { 'closingRecord.tokenId': stampId }, `${sealRefused} imprint_mismatch:`],
    ['no stamp of the closing record', 'workflow', { 'closingRecord.tokenId': workflow.id }, `${sealRefused} unknown_token_id:`],
  ];
  for (const [what, place, change, said] of changes) {
    const [table, id] = places[place];
    // The recomputation for this view must not hide the next change.
    expect(await read(), `before ${what}`).toContain('Record closed');
    const before = await table.findOne({ _id: id });
    await table.updateOne({ _id: id }, { $set: change });
    const shown = await read();
    expect(shown, what).toMatch(/Skip to the content .{0,80}This record does not hold/);
    expect(shown, what).toContain(said);
    expect(shown, what).not.toMatch(claims);
    await table.replaceOne({ _id: id }, before ?? {});
  }
  const third = `${workflow.id}/000000000003`;
  const removed = await outputs.findOne({ _id: third });
  await outputs.deleteOne({ _id: third });
  expect(await read()).toMatch(/Skip to the content .{0,80}This record does not hold .*File 3 is missing/);
  await outputs.insertOne({ ...removed, _id: third });

  const withoutTime = (words: string) => words.replace(/Shown .*? UTC/, '');
  expect(withoutTime(await read())).toBe(withoutTime(untouched));

  // Flags decide nothing: the page shows verified facts, whatever the flags say.
  await outputs.updateOne({ _id: second }, { $set: { isQualified: false } });
  await stamps.updateOne({ _id: stampId }, { $set: { 'proofs.0.isQualified': false } });
  await outputs.updateOne({ _id: closing }, { $set: { unqualifiedTotal: 2 } });
  expect(await read()).not.toContain('Not qualified');

  // A holder of the keys could write another address: the commitment in the closing record detects that (W18).
  const store = openStore(loadConfig(service.settings), pino({ level: 'silent' }));
  onTestFinished(() => store.close());
  const before = await workflows.findOne({ _id: workflow.id });
  const key = (await store.workflows.find(workflow.id))?.wordsKey;
  const forged = JSON.stringify({ email: 'else@example.com', agentId: 'agent-7' });
  const words = encryptText({ key: key!, nonce: randomBytes(12), context: `workflow-words:${workflow.id}` }, forged);
  for (const change of [{ $set: { words } }, { $unset: { encryptedSalts: '' } as const }]) {
    await workflows.updateOne({ _id: workflow.id }, change);
    expect(await read()).toContain('The client on this page differs from the one at the closing of the record.');
  }
  // Even without the data written at completion, the closed chain shows it.
  const ending = { closing: '', closingRecord: '', root: '', completedAt: '' } as const;
  await workflows.updateOne({ _id: workflow.id }, { $set: { status: 'active' }, $unset: ending });
  expect(await read()).toContain('The status on this page differs');
  await workflows.replaceOne({ _id: workflow.id }, before ?? {});
  expect(withoutTime(await read())).toContain('Record closed');

  const stamp = await read(`/api/v1/verify/v1/token/${stampId}`);
  expect(stamp).toMatch(/This stamp is valid.*tsa-1.*Qualified/);
  expect(stamp).toMatch(/Signed by CN=.*,O=.*trust anchor/);
  await stamps.updateOne({ _id: stampId }, { $set: { 'imprint.digest': other } });
  const refused = await read(`/api/v1/verify/v1/token/${stampId}`);
  expect(refused).toContain('This stamp is not valid');
  expect(refused).not.toMatch(claims);
});

test('V9: for an invalid record, no file or hash is called a match, or called not an output', async () => {
  const workflow = await completedWorkflow();
  const path = `/workflow/${workflow.id}`;
  const outputs = collectionOf(await openDatabase(service), 'outputs');
  await outputs.updateOne({ _id: `${workflow.id}/000000000002` }, { $set: { hash: sha256('forged') } });
  const page = await openPage();
  await readPage(service, path);
  await page.goto(service.url + path);
  await page.locator('#in-browser-proof[data-state=broken]').waitFor({ state: 'attached' });
  const files = ['forged', 'two', 'three', 'briefing'].map((name) => ({ name, mimeType: 'text/plain', buffer: Buffer.from(name) }));
  await page.setInputFiles('#file', files);
  await page.getByText('briefing is recorded as').waitFor();
  const told = await page.locator('.check .results li').allInnerTexts();
  expect(told.map((line) => line.trim())).toEqual([
    expect.stringMatching(/^Not proved: forged is recorded as file 2, but nothing here proves it\.$/),
    expect.stringMatching(/^It is not known whether two is in this record, because the record does not hold/),
    'Not proved: three is recorded as file 3, but nothing here proves it.',
    'Not proved: briefing is recorded as the briefing, but nothing here proves it.',
  ]);
  const icons = await page.locator('.check .results use').evaluateAll((all) => all.map((use) => use.getAttribute('href')));
  expect(new Set(icons)).toEqual(new Set(['#icon-warning']));
  expect(await page.locator('.check .verdict-proved').count()).toBe(0);

  const findOf = async (content: string) => {
    const html = await readPage(service, `${path}?find=${sha256(content)}`, asBrowser);
    const [, found = ''] = /(<div class="result.*?<\/div>)/s.exec(html) ?? [];
    expect(found).toMatch(/^(?![\s\S]*is-match)[\s\S]*#icon-warning/);
    return wordsOf(found);
  };
  expect(await findOf('one')).toContain('Not proved: this is recorded as the fingerprint of file 1');
  expect(await findOf('briefing')).toMatch(/Not proved: this is recorded as the fingerprint of the briefing/);
  for (const content of ['two', 'three'])
    expect(await findOf(content)).toContain(
      'It is not known whether a file of this record has this fingerprint, because the record does not hold',
    );
});

test('V9: without trust anchors the pages say that nothing is proved', async () => {
  const workflow = await completedWorkflow();
  const { TSP_PROVIDERS_FILE: _, ...rest } = service.settings;
  const without = await startService({ workers: 0, settings: { ...rest, TSP: 'mock' } });
  const read = (path: string) => readWords(without, path);
  const page = await read(`/workflow/${workflow.id}`);
  expect(page).toMatch(/Skip to the content .{0,80}Not proved/);
  expect(page).toContain('This installation trusts no certificate that confirms these stamps');
  expect(page).not.toMatch(claims);
  const stored = await collectionOf(await openDatabase(service), 'outputs').findOne({ _id: `${workflow.id}/000000000001` });
  expect(await read(`/api/v1/verify/v1/token/${stored?.tokenId}`)).toContain('This stamp is not proved');
});
