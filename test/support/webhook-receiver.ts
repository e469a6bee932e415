import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';
import { eventually } from './eventually.ts';

/** The WEBHOOK_SECRET of tests. */
export const webhookSecret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;

export interface ReceivedWebhook {
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** A receiver that answers with these statuses, repeating the last one; `hang` gives no answer. */
export async function startReceiver(...statuses: (number | 'hang')[]) {
  const received: ReceivedWebhook[] = [];
  const held: ServerResponse[] = [];
  const server = createServer((request, response) => {
    let body = '';
    request.setEncoding('utf8').on('data', (chunk) => (body += chunk));
    request.on('end', () => {
      received.push({ headers: request.headers, body });
      const status = statuses.length > 1 ? statuses.shift() : (statuses[0] ?? 204);
      if (status === 'hang') return void held.push(response);
      response
        .writeHead(Number(status), { location: `http://127.0.0.1:${(server.address() as AddressInfo).port}/elsewhere` })
        .end('x'.repeat(100_000));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook?who=me`,
    received,
    /** Sets the answer from now on. */
    answer: (status: number | 'hang') => void statuses.splice(0, Infinity, status),
    /** Accepts the webhooks that hang, and all from now on. */
    release: () => {
      statuses.splice(0, Infinity, 204);
      for (const response of held.splice(0)) response.writeHead(204).end();
    },
  };
}

/** Waits until this many webhooks have arrived. */
export const arrived = (received: readonly ReceivedWebhook[], count = 1, withinMs?: number) =>
  eventually(async () => received.length >= count && received, withinMs);
