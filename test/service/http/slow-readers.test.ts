import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { get } from 'node:http';
import { connect, type Socket, type TcpNetConnectOpts } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { pino } from 'pino';
import { beforeAll, expect, onTestFinished, test } from 'vitest';
import { loadConfig } from '../../../src/shared/runtime/config.ts';
import { openStore } from '../../../src/shared/store/store.ts';
import { isLong } from '../../support/depth.ts';
import { eventually } from '../../support/eventually.ts';
import { randomHash, stampAgent } from '../../support/requests.ts';
import { type Service, startService } from '../../support/service.ts';
import { completeWorkflow, type StartedWorkflow, startWorkflow } from '../../support/workflows.ts';

const content = randomBytes(10 * 1024 * 1024);
const ends: (() => Promise<unknown>)[] = [];
let service: Service;
let sealed: URL;
let bundle: URL;
beforeAll(async () => {
  service = await startService({ keep: true, settings: { RATE_WORKFLOW_START_PER_HOUR: '0' } });
  ends.push(() => service.stop());
  const { body } = await stampAgent(service, 'sealed', { content_b64: content.toString('base64') });
  sealed = new URL(String(body.sealed_storage_url), service.url);
  const workflow = await startWorkflow(service);
  await appendMany(service, workflow);
  await completeWorkflow(service, workflow);
  bundle = new URL(`/workflow/${workflow.id}/evidence.zip`, service.url);
  return async () => {
    for (const end of ends.reverse()) await end();
  };
});

/** Gives a workflow outputs whose bundle, of 5 MB, does not fit into the buffers of a socket. */
async function appendMany({ settings }: Service, { id: workflowId, briefingHash }: StartedWorkflow): Promise<void> {
  const store = openStore(loadConfig(settings), pino({ level: 'silent' }));
  ends.push(() => store.close());
  for (let batch = 0; batch < 16; batch += 1) {
    const outputs = Array.from({ length: 200 }, (_, index) => ({
      outputId: `output-${batch}-${index}`,
      // Long and random, so that few outputs suffice.
      tokenId: randomBytes(1_500).toString('base64url'),
      hash: randomHash(),
      type: 'text',
      metadata: undefined,
      stampedAt: '2026-11-21T12:00:00.000Z',
      provider: 'mock',
      isQualified: false,
    }));
    await store.outputs.append({ workflowId, briefingHash }, outputs);
  }
}

/** Asks for the content and reads an octet each tenth of a second. */
async function openSlowReader(url: URL, localAddress = '127.0.0.1'): Promise<{ readonly socket: Socket; octets: number }> {
  const onread = {
    buffer: Buffer.alloc(1),
    callback: () => {
      reader.octets += 1;
      setTimeout(() => socket.resume(), 100);
      return false;
    },
  };
  const options: TcpNetConnectOpts = { port: Number(url.port), host: '127.0.0.1', localAddress, onread };
  const socket = connect(options);
  const reader = { socket, octets: 0 };
  onTestFinished(() => void socket.destroy());
  socket.on('error', () => undefined);
  await once(socket, 'connect');
  socket.write(`GET ${url.pathname} HTTP/1.1\r\nhost: localhost\r\n\r\n`);
  return reader;
}

async function download(url: URL, localAddress: string): Promise<{ status: number; retryAfter: string | undefined; bytes: Buffer }> {
  const [response] = await once(get(url, { localAddress, agent: false }), 'response');
  const bytes = await buffer(response);
  return { status: response.statusCode, retryAfter: response.headers['retry-after'], bytes };
}

test('E10: a client that reads one octet at a time delays no other', async () => {
  const readers = await Promise.all(Array.from({ length: 8 }, () => openSlowReader(sealed)));
  await eventually(async () => readers.every(({ octets }) => octets > 0), 60_000);
  expect((await download(bundle, '127.0.0.1')).status).toBe(503);
  const [ofBundle, ofContent] = [await download(bundle, '127.0.0.2'), await download(sealed, '127.0.0.2')];
  expect([ofBundle.status, ofBundle.bytes.subarray(0, 2).toString()]).toEqual([200, 'PK']);
  expect([ofContent.status, ofContent.bytes.equals(content)]).toEqual([200, true]);
});

test('E10: 24 clients that read a bundle slowly keep no other waiting: from their addresses it is refused at once, else it comes whole', async () => {
  const slowAddresses = ['127.0.0.1', '127.0.0.2', '127.0.0.3'];
  const whole = await download(bundle, '127.0.0.4');
  const readers = await Promise.all(slowAddresses.flatMap((address) => Array.from({ length: 8 }, () => openSlowReader(bundle, address))));
  await eventually(async () => readers.every(({ octets }) => octets > 0), 60_000);
  const honest = await download(bundle, '127.0.0.4');
  expect([honest.status, honest.bytes.equals(whole.bytes)]).toEqual([200, true]);
  for (const address of slowAddresses) {
    const { status, retryAfter } = await download(bundle, address);
    expect([status, Number(retryAfter)]).toEqual([503, 2]);
  }
  for (const { socket } of readers.slice(0, 8)) socket.destroy();
  const again = await eventually(async () => {
    const answer = await download(bundle, '127.0.0.1');
    return answer.status === 200 && answer;
  });
  expect(again.bytes.equals(whole.bytes)).toBe(true);
});

test.runIf(isLong)(
  'E10: a client that reads almost nothing for 30 s is cut off; a slow one is not',
  async () => {
    const slow = await openSlowReader(sealed);
    await eventually(async () => slow.octets > 0);
    const [patient] = await once(get(sealed, { agent: false }), 'response');
    const taken: Buffer[] = [];
    const pace = setInterval(() => {
      const part = patient.read(128 * 1024) as Buffer | null;
      if (part) taken.push(part);
    }, 1_000);
    await eventually(async () => service.output().includes('reads too slowly'), 60_000);
    clearInterval(pace);
    for await (const part of patient) taken.push(part as Buffer);
    expect(Buffer.concat(taken).equals(content)).toBe(true);
    expect(service.output().match(/reads too slowly/g)).toHaveLength(1);
    expect(slow.octets).toBeGreaterThan(100);
  },
  90_000,
);
