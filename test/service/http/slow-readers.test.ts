import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { get } from 'node:http';
import { connect } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { pino } from 'pino';
import { afterAll, expect, onTestFinished, test } from 'vitest';
import { loadConfig } from '../../../src/shared/runtime/config.ts';
import { openStore } from '../../../src/shared/store/store.ts';
import { isLong } from '../../support/depth.ts';
import { eventually } from '../../support/eventually.ts';
import { randomHash, stampAgent } from '../../support/requests.ts';
import { startService } from '../../support/service.ts';
import { completeWorkflow, startWorkflow } from '../../support/workflows.ts';

const content = randomBytes(10 * 1024 * 1024);
const service = await startService({ keep: true, settings: { RATE_WORKFLOW_START_PER_HOUR: '0' } });
afterAll(async () => void (await service.stop()));

async function sealContent(): Promise<URL> {
  const { body } = await stampAgent(service, 'sealed', { content_b64: content.toString('base64') });
  return new URL(String(body.sealed_storage_url), service.url);
}

/** The bundle of a workflow, whose 5 MB do not fit into the buffers of a socket. */
async function makeBundle(): Promise<URL> {
  const workflow = await startWorkflow(service);
  const store = openStore(loadConfig(service.settings), pino({ level: 'silent' }));
  const claims = { type: 'text', metadata: undefined, stampedAt: '2026-11-21T12:00:00.000Z', provider: 'mock', isQualified: false };
  for (let batch = 0; batch < 16; batch += 1) {
    // The ids are long and random, so that few outputs suffice.
    const outputs = Array.from({ length: 200 }, (_, index) => ({
      ...{ ...claims, outputId: `output-${batch}-${index}`, tokenId: randomBytes(1_500).toString('base64url'), hash: randomHash() },
    }));
    await store.outputs.append({ workflowId: workflow.id, briefingHash: workflow.briefingHash }, outputs);
  }
  await store.close();
  await completeWorkflow(service, workflow);
  return new URL(`/workflow/${workflow.id}/evidence.zip`, service.url);
}

const [sealed, bundle] = [await sealContent(), await makeBundle()];

/** Asks for the content and reads an octet each tenth of a second; returns the number of octets read. */
function openSlowReader(url: URL): () => number {
  let octets = 0;
  const callback = () => {
    octets += 1;
    setTimeout(() => socket.resume(), 100);
    return false;
  };
  const socket = connect({ port: Number(url.port), host: '127.0.0.1', onread: { buffer: Buffer.alloc(1), callback } });
  onTestFinished(() => void socket.destroy());
  socket.on('error', () => undefined).write(`GET ${url.pathname} HTTP/1.1\r\nhost: localhost\r\n\r\n`);
  return () => octets;
}

async function download(url: URL, localAddress: string): Promise<{ status: number; retryAfter: string | undefined; bytes: Buffer }> {
  const [response] = await once(get(url, { localAddress, agent: false }), 'response');
  return { status: response.statusCode, retryAfter: response.headers['retry-after'], bytes: await buffer(response) };
}

test.each([
  ['a bundle', bundle],
  ['sealed content', sealed],
])('E10: eight readers of %s, octet by octet, delay no other: their address is refused at once, others get all', async (_what, url) => {
  const whole = await download(bundle, '127.0.0.3');
  const readers = Array.from({ length: 8 }, () => openSlowReader(url));
  await eventually(async () => readers.every((octets) => octets() > 0), 60_000);
  for (const each of [bundle, sealed]) expect(await download(each, '127.0.0.1')).toMatchObject({ status: 503, retryAfter: '2' });
  const [ofBundle, ofContent] = [await download(bundle, '127.0.0.2'), await download(sealed, '127.0.0.2')];
  expect([whole.status, ofBundle.bytes.equals(whole.bytes), ofContent.bytes.equals(content)]).toEqual([200, true, true]);
});

test.runIf(isLong)('E10: a client that reads almost nothing for 30 s is cut off; a slow one is not', async () => {
  const octets = openSlowReader(sealed);
  await eventually(async () => octets() > 0);
  const [patient] = await once(get(sealed, { agent: false }), 'response');
  const taken: Buffer[] = [];
  const pace = setInterval(() => {
    const part = patient.read(128 * 1024) as Buffer | null;
    if (part) taken.push(part);
  });
  await eventually(async () => service.output().includes('reads too slowly'), 60_000);
  clearInterval(pace);
  for await (const part of patient) taken.push(part as Buffer);
  expect(Buffer.concat(taken).equals(content)).toBe(true);
  expect(service.output().match(/reads too slowly/g)).toHaveLength(1);
  expect(octets()).toBeGreaterThan(100);
});
