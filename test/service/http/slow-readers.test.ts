import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { get } from 'node:http';
import { connect, type Socket, type TcpNetConnectOpts } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { beforeAll, expect, onTestFinished, test } from 'vitest';
import { isLong } from '../../support/depth.ts';
import { eventually } from '../../support/eventually.ts';
import { sha256, stampAgent } from '../../support/requests.ts';
import { type Service, startService } from '../../support/service.ts';
import { completeWorkflow, stampOutput, startWorkflow } from '../../support/workflows.ts';

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
  await stampOutput(service, workflow, { output_hash: sha256('b') });
  await completeWorkflow(service, workflow);
  bundle = new URL(`/workflow/${workflow.id}/evidence.zip`, service.url);
  return async () => {
    for (const end of ends.reverse()) await end();
  };
});

/** Asks for the content and reads an octet each tenth of a second. */
async function openSlowReader(localAddress = '127.0.0.1'): Promise<{ readonly socket: Socket; octets: number }> {
  const onread = {
    buffer: Buffer.alloc(1),
    callback: () => {
      reader.octets += 1;
      setTimeout(() => socket.resume(), 100);
      return false;
    },
  };
  const options: TcpNetConnectOpts = { port: Number(sealed.port), host: '127.0.0.1', localAddress, onread };
  const socket = connect(options);
  const reader = { socket, octets: 0 };
  onTestFinished(() => void socket.destroy());
  socket.on('error', () => undefined);
  await once(socket, 'connect');
  socket.write(`GET ${sealed.pathname} HTTP/1.1\r\nhost: localhost\r\n\r\n`);
  return reader;
}

async function download(url: URL, localAddress: string): Promise<{ status: number; bytes: Buffer }> {
  const [response] = await once(get(url, { localAddress, agent: false }), 'response');
  const bytes = await buffer(response);
  return { status: response.statusCode, bytes };
}

test('E10: a client that reads one octet at a time delays no other', async () => {
  const readers = await Promise.all(Array.from({ length: 8 }, () => openSlowReader()));
  await eventually(async () => readers.every(({ octets }) => octets > 0), 60_000);
  expect((await download(bundle, '127.0.0.1')).status).toBe(503);
  const [ofBundle, ofContent] = [await download(bundle, '127.0.0.2'), await download(sealed, '127.0.0.2')];
  expect([ofBundle.status, ofBundle.bytes.subarray(0, 2).toString()]).toEqual([200, 'PK']);
  expect([ofContent.status, ofContent.bytes.equals(content)]).toEqual([200, true]);
});

test.runIf(isLong)(
  'E10: a client that reads almost nothing for 30 s is cut off; a slow one is not',
  async () => {
    const slow = await openSlowReader();
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
