import { createPublicKey } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { pemOf } from '../../../src/shared/rfc3161/index.ts';
import { basicConstraints, issueCertificate } from '../../support/certificates.ts';
import { runOperator, temporaryFolder } from '../../support/cli.ts';
import { type ListServer, newListSigner, startListServer } from '../../support/list-server.ts';
import { startMailServer } from '../../support/mail.ts';
import { eventually, getJson, randomHash, stampAgent, verifyById, verifyRaw } from '../../support/requests.ts';
import { type Service, type Settings, startService } from '../../support/service.ts';
import type { ListedService } from '../../support/trusted-lists.ts';
import { providersSettings, type RunningTsa, startTsa } from '../../support/tsa-service.ts';
import { completeWorkflow, openLink, stampOutput, startWorkflow } from '../../support/workflows.ts';

const commission = newListSigner('Commission');
const sweden = newListSigner('Sweden');

let server: ListServer;
let tsa: RunningTsa;
let number = 0;

const service = (of: Partial<ListedService> = {}): ListedService => ({
  type: 'TSA/QTST',
  name: 'Stamps',
  status: 'granted',
  since: '2018-03-01T00:00:00Z',
  certificates: [tsa.pki.intermediate.certificate],
  ...of,
});

function publish(services: readonly ListedService[], nextUpdate = '2036-01-01T00:00:00Z'): void {
  number += 1;
  server.publish('/se.xml', sweden, { territory: 'SE', sequenceNumber: number, nextUpdate, providers: [{ name: 'Acme', services }] });
}

function publishListOfLists(sequenceNumber: number, issuedAt = '2026-11-01T00:00:00Z'): void {
  const pointers = [{ territory: 'SE', location: `${server.url}/se.xml`, signers: [sweden.certificate] }];
  server.publish('/eu.xml', commission, { kind: 'list_of_lists', sequenceNumber, issuedAt, nextUpdate: null, pointers });
}

/** A certificate of 1970 for the CA of a TSA. */
function expired({ pki: { root, intermediate } }: RunningTsa): Buffer {
  const { privateKey, scheme } = intermediate;
  const template = { commonName: 'Time-Stamping CA', serial: 5n, notBeforeMs: 0, notAfterMs: 86_400_000 };
  const key = { privateKey, publicKey: createPublicKey(privateKey), scheme };
  return issueCertificate({ ...template, extensions: [basicConstraints(true)] }, key, root).certificate;
}

async function start(provider: object, others: Settings = {}): Promise<Service> {
  publishListOfLists(1);
  const pins = join(temporaryFolder(), 'pins.pem');
  writeFileSync(pins, pemOf('CERTIFICATE', commission.certificate));
  const lists = { TRUSTED_LIST_URLS: `${server.url}/eu.xml`, LOTL_SIGNERS_FILE: pins };
  const running = await startService({ settings: { ...providersSettings([{ tsa, ...provider }]), ...lists, ...others } });
  await eventually(async () => (await stampQualified(running)).basis === 'list', 20_000);
  return running;
}

const stampQualified = async (running: Service) =>
  (await stampAgent(running, 'basic', { hash: randomHash() })).body.qualified as {
    status: string;
    basis: string | null;
    reason: string | null;
  };

beforeEach(async () => {
  server = await startListServer();
  tsa = await startTsa();
  publish([service()]);
});

describe('a provider whose qualification comes from a trusted list', () => {
  test('is qualified while the list grants it; older stamps keep their verdict when the list changes', async () => {
    const running = await start({ qualified: 'from_list' });
    const { body: first } = await stampAgent(running, 'basic', { hash: randomHash() });
    expect(first).toMatchObject({ is_qualified: true, qualified: { status: 'qualified', basis: 'list', reason: null } });
    const verdict = {
      status: 'qualified',
      basis: 'list',
      country: 'SE',
      service: 'Stamps',
      provider_name: 'Acme',
      granted_since: '2018-03-01T00:00:00.000Z',
      list_number: number,
    };
    expect((await verifyById(running, first.token_id)).body).toMatchObject({ is_qualified: true, qualified: verdict });
    await eventually(async () => (await verifyRaw(running, first.token)).body.is_qualified === true, 20_000);
    expect((await verifyRaw(running, first.token)).body).toMatchObject({ is_qualified: true, qualified: verdict });

    // The list withdraws the service: new stamps say so, and the history answers for the first one.
    const withdrawn = new Date(Date.now() + 1_000).toISOString();
    const { since, ...before } = service();
    publish([service({ status: 'withdrawn', since: withdrawn, history: [{ ...before, since }] })]);
    await runOperator(['refresh-lists'], running.settings);
    await eventually(async () => (await stampQualified(running)).status === 'not_qualified', 20_000);
    expect(await stampQualified(running)).toMatchObject({ basis: 'list', reason: expect.stringMatching(/^service_withdrawn: /) });

    // The list forgets the service. The one under which the first stamp was made is kept.
    publish([service({ certificates: [commission.certificate] })]);
    await runOperator(['refresh-lists'], running.settings);
    await eventually(async () => (await stampQualified(running)).reason?.startsWith('service_not_listed: '), 20_000);
    const { body: unlisted } = await stampAgent(running, 'basic', { hash: randomHash() });
    await eventually(
      async () => ((await verifyById(running, unlisted.token_id)).body.qualified as { basis: unknown }).basis === null,
      20_000,
    );
    expect((await verifyById(running, first.token_id)).body).toMatchObject({ is_qualified: true, qualified: verdict });

    // The list has the service with another key.
    publish([service({ certificates: [(await startTsa()).pki.intermediate.certificate] })]);
    await runOperator(['refresh-lists'], running.settings);
    await eventually(async () => (await stampQualified(running)).reason?.startsWith('service_other_key: '), 20_000);
    expect((await verifyById(running, first.token_id)).body).toMatchObject({ is_qualified: true, qualified: verdict });
  });

  test('a list that knows the service wins over the providers file', async () => {
    publish([service({ status: 'withdrawn', since: '2024-01-01T00:00:00Z' })]);
    const running = await start({ qualified: true });
    const { body } = await stampAgent(running, 'basic', { hash: randomHash() });
    expect(body).toMatchObject({
      is_qualified: false,
      qualified: { basis: 'list', reason: expect.stringMatching(/^service_withdrawn: /) },
    });
  });

  test('W19: if the list withdrew it, nothing of a qualified workflow is queued or closed', async () => {
    publish([service({ status: 'withdrawn', since: '2024-01-01T00:00:00Z' })]);
    const mail = await startMailServer();
    const running = await start({ qualified: 'from_list' }, { SMTP_URL: mail.url });
    const workflow = await startWorkflow(running, { tier: 'qualified' });
    expect((await openLink(await mail.linkFor(workflow.id))).status).toBe(200);
    const refused = { status: 502, body: { code: 'tier_unavailable' } };
    expect(await completeWorkflow(running, workflow)).toMatchObject(refused);
    // An output is refused as soon as a worker has told the API so, even to a caller who does not wait.
    await eventually(async () => (await stampOutput(running, workflow, {}, { prefer: 'respond-async' })).status === 502);
    expect(await stampOutput(running, workflow)).toMatchObject(refused);
    expect((await getJson(running, `/api/v1/workflow/${workflow.id}`)).body).toMatchObject({ status: 'active', output_count: 0 });
  });

  test('an expired list refuses new qualified stamps', async () => {
    const nextUpdate = new Date(Date.now() + 15_000).toISOString();
    publish([service()], nextUpdate);
    const running = await start({ qualified: 'from_list' });
    await eventually(async () => (await stampQualified(running)).reason?.startsWith('list_expired: '), 40_000);
    publish([service()]);
    await runOperator(['refresh-lists'], running.settings);
    await eventually(async () => (await stampQualified(running)).status === 'qualified', 20_000);
  });
});

test('a stranger’s token is valid and qualified if a list grants its service, and not proved if a list does not', async () => {
  const stranger = await startTsa();
  const issued = await startService({ settings: providersSettings([{ tsa: stranger }]) });
  const { body } = await stampAgent(issued, 'basic', { hash: randomHash() });
  publish([service(), service({ name: 'Others', certificates: [stranger.pki.intermediate.certificate] })]);
  const running = await start({ qualified: 'from_list' });
  await eventually(async () => (await verifyRaw(running, body.token)).body.valid === true, 20_000);
  expect((await verifyRaw(running, body.token)).body).toMatchObject({
    valid: true,
    tsp_provider: null,
    is_qualified: true,
    qualified: { basis: 'list', service: 'Others' },
  });

  // The certificates on the list have expired, and the list of lists is dated in the future: API and page say so.
  publish([service(), service({ name: 'Others', certificates: [expired(stranger)] })]);
  publishListOfLists(2, '2126-01-01T00:00:00Z');
  await runOperator(['refresh-lists'], running.settings);
  const says = ['its certificate on the trusted list expired at 1970-01-02T00:00:00.000Z', 'no. 2 is in force: it is dated in the future'];
  const isSaid = (text: string) => says.every((one) => text.includes(one));
  await eventually(async () => isSaid(String((await verifyRaw(running, body.token)).body.not_checked)), 20_000);
  const form = { method: 'POST', headers: { Accept: 'application/xhtml+xml' }, body: new URLSearchParams({ token: String(body.token) }) };
  expect(isSaid(await (await running.fetch('/verify', form)).text())).toBe(true);

  publish([
    service(),
    service({ name: 'Others', certificates: [stranger.pki.intermediate.certificate], status: 'withdrawn', since: '2024-01-01T00:00:00Z' }),
  ]);
  await runOperator(['refresh-lists'], running.settings);
  await eventually(async () => (await verifyRaw(running, body.token)).body.valid === false, 20_000);
  expect((await verifyRaw(running, body.token)).body).toMatchObject({
    verdict: 'not_proved',
    is_qualified: null,
    qualified: { status: 'not_qualified', service: 'Others', service_status: 'withdrawn' },
  });
});
