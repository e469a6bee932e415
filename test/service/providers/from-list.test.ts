import { createPublicKey } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { refreshLists } from '../../../src/operator/refresh-lists.ts';
import { pemOf, type SigningIdentity, tokenIn } from '../../../src/shared/rfc3161/index.ts';
import { basicConstraints, issueCertificate } from '../../../src/tsa/certificate.ts';
import { runOperator, temporaryFolder } from '../../support/cli.ts';
import { newListSigner, startListServer } from '../../support/list-server.ts';
import { eventually, randomHash, stampAgent, verifyById, verifyRaw } from '../../support/requests.ts';
import { startService } from '../../support/service.ts';
import type { ListedService } from '../../support/trusted-lists.ts';
import { createTsaLab } from '../../support/tsa-lab.ts';
import { providersSettings, startTsa } from '../../support/tsa-service.ts';

const [commission, sweden] = [newListSigner('Commission'), newListSigner('Sweden')];
const stranger = createTsaLab();
const listed = (certificate: Buffer, of: Partial<ListedService> = {}): ListedService => {
  const granted = { type: 'TSA/QTST', name: 'Stamps', status: 'granted', since: '2018-03-01T00:00:00Z' };
  return { ...granted, certificates: [certificate], ...of };
};

/** A certificate of 1970 for this CA. */
function expired({ privateKey, scheme }: SigningIdentity, root: SigningIdentity): Buffer {
  const template = { commonName: 'Time-Stamping CA', serial: 5n, notBeforeMs: 0, notAfterMs: 86_400_000 };
  const key = { privateKey, publicKey: createPublicKey(privateKey), scheme };
  return issueCertificate({ ...template, extensions: [basicConstraints(true)] }, key, root).certificate;
}

test('new stamps and strangers’ tokens are judged by the list in force; a stamp keeps its verdict when the list changes', async () => {
  const [server, tsa] = [await startListServer(), await startTsa()];
  const [ours, others] = [tsa.pki.intermediate.certificate, stranger.pki.intermediate.certificate];
  let number = 0;
  const publish = (...services: readonly ListedService[]) => {
    number += 1;
    server.publish('/se.xml', sweden, { territory: 'SE', sequenceNumber: number, providers: [{ name: 'Acme', services }] });
  };
  const publishListOfLists = (sequenceNumber: number, issuedAt: string) => {
    const pointers = [{ territory: 'SE', location: `${server.url}/se.xml`, signers: [sweden.certificate] }];
    server.publish('/eu.xml', commission, { kind: 'list_of_lists', sequenceNumber, issuedAt, nextUpdate: null, pointers });
  };
  publish(listed(ours), listed(others, { name: 'Others' }));
  publishListOfLists(1, '2026-11-01T00:00:00Z');
  const pins = join(temporaryFolder(), 'pins.pem');
  writeFileSync(pins, pemOf('CERTIFICATE', commission.certificate));
  const settings = { TRUSTED_LIST_URLS: `${server.url}/eu.xml`, LOTL_SIGNERS_FILE: pins };
  const service = await startService({ settings: { ...providersSettings([{ tsa, qualified: 'from_list' }]), ...settings } });
  const stamp = async () =>
    (await stampAgent(service, 'basic', { hash: randomHash() })).body as Record<string, Record<string, string | null>>;
  const refreshed = async (reason: string) => {
    await runOperator(refreshLists, [], service.settings);
    return eventually(async () => {
      const stamped = await stamp();
      return stamped.qualified?.reason?.startsWith(reason) && stamped;
    });
  };

  const first = await eventually(async () => {
    const stamped = await stamp();
    return stamped.qualified?.basis === 'list' && stamped;
  });
  expect(first).toMatchObject({ is_qualified: true, qualified: { status: 'qualified', reason: null } });
  const listing = { country: 'SE', service: 'Stamps', provider_name: 'Acme', granted_since: '2018-03-01T00:00:00.000Z', list_number: 1 };
  const verdict = { is_qualified: true, qualified: { status: 'qualified', basis: 'list', ...listing } };
  const keepsIt = async () => expect((await verifyById(service, first.token_id)).body).toMatchObject(verdict);
  await eventually(async () => (await verifyRaw(service, first.token)).body.is_qualified === true);
  expect((await verifyRaw(service, first.token)).body).toMatchObject(verdict);
  await keepsIt();

  const token = tokenIn(stranger.specimen({ timeMs: Date.now() }).answer)!.toString('base64');
  const ofStranger = async () => (await verifyRaw(service, token)).body;
  const ofOthers = { tsp_provider: null, is_qualified: true, qualified: { basis: 'list', service: 'Others' } };
  expect(await ofStranger()).toMatchObject({ valid: true, ...ofOthers });

  // Ours is withdrawn; the history answers for the first stamp. The certificate of the others has expired, and the list of lists is dated in the future.
  const history = [{ type: 'TSA/QTST', name: 'Stamps', status: 'granted', since: '2018-03-01T00:00:00Z' }];
  const withdrawn = { status: 'withdrawn', since: new Date(Date.now() + 1_000).toISOString(), history };
  publish(listed(ours, withdrawn), listed(expired(stranger.pki.intermediate, stranger.pki.root), { name: 'Others' }));
  publishListOfLists(2, '2126-01-01T00:00:00Z');
  expect(await refreshed('service_withdrawn: ')).toMatchObject({
    is_qualified: false,
    qualified: { status: 'not_qualified', basis: 'list' },
  });
  const says = ['its certificate on the trusted list expired at 1970-01-02T00:00:00.000Z', 'no. 2 is in force: it is dated in the future'];
  const isSaid = (text: string) => says.every((one) => text.includes(one));
  await eventually(async () => isSaid(String((await ofStranger()).not_checked)));
  const form = { method: 'POST', headers: { Accept: 'application/xhtml+xml' }, body: new URLSearchParams({ token }) };
  expect(isSaid(await (await service.fetch('/verify', form)).text())).toBe(true);

  // The list forgets ours. The service under which the first stamp was made is kept.
  publish(listed(commission.certificate));
  const unlisted = await refreshed('service_not_listed: ');
  await eventually(async () => ((await verifyById(service, unlisted.token_id)).body.qualified as { basis: unknown }).basis === null);
  await keepsIt();

  // The CA of the others has the name of ours.
  publish(listed(others, { name: 'Others', status: 'withdrawn', since: '2024-01-01T00:00:00Z' }));
  await refreshed('service_other_key: ');
  await keepsIt();
  await eventually(async () => (await ofStranger()).valid === false);
  const refused = { status: 'not_qualified', service: 'Others', service_status: 'withdrawn' };
  expect(await ofStranger()).toMatchObject({ verdict: 'not_proved', is_qualified: null, qualified: refused });
});
