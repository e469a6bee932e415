import { writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { unzip } from '../../support/bundle-lab.ts';
import { folderWith } from '../../support/cli.ts';
import { headersOf } from '../../support/containers.ts';
import { stampAgent } from '../../support/requests.ts';
import { sharedService } from '../../support/service.ts';
import { sharedTsaService } from '../../support/tsa-service.ts';

const { service, tsa } = await sharedTsaService();

const sealed = async (content: string) => {
  const { body } = await stampAgent(service, 'sealed', { content_b64: Buffer.from(content).toString('base64') });
  return { id: String(body.token_id), address: String(body.sealed_storage_url) };
};

test('S11: a sealed stamp is an ASiC-S container at its secret address, with the same octets each time', async () => {
  const { id, address } = await sealed('confidential');
  const response = await service.fetch(`${address}/container`);
  expect(response.headers.get('content-type')).toBe('application/vnd.etsi.asic-s+zip');
  expect(response.headers.get('cache-control')).toBe('private, no-store');
  const container = Buffer.from(await response.arrayBuffer());
  expect(Buffer.from(await (await service.fetch(`${address}/container`)).arrayBuffer()).equals(container)).toBe(true);
  for (const { local, directory } of await headersOf(container)) expect(local).toEqual({ ...directory, hasDescriptor: false });
  const files = await unzip(container);
  expect([...files.keys()]).toEqual(['mimetype', `${id}.bin`, 'META-INF/timestamp.tst']);
  expect(String(files.get(`${id}.bin`))).toBe('confidential');
  const { run, path } = folderWith({ 'root.pem': tsa.pki.rootPem });
  writeFileSync(path('sealed.asics'), container);
  expect(await run(['verify', '--ca', 'root.pem', 'sealed.asics'])).toMatchObject({ code: 0 });
});

test('S11: a caller who may not fetch the content gets no container', async () => {
  const { address } = await sealed('confidential');
  const other = await sealed('other');
  const secret = other.address.split('/').at(-1)!;
  const wrong = `${address.slice(0, address.lastIndexOf('/'))}/${secret}/container`;
  expect((await service.fetch(wrong)).status).toBe(404);
});

test('S11: a stamp of the mock provider has no token to pack', async () => {
  const mock = await sharedService();
  const { body } = await stampAgent(mock, 'sealed', { content_b64: 'aGVsbG8=' });
  const response = await mock.fetch(`${body.sealed_storage_url}/container`);
  expect([response.status, await response.text()]).toEqual([404, expect.stringContaining('mock provider')]);
});
