import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';
import { type RunningTsa, startTsa } from './tsa-service.ts';

/** A TSA that blocks its clients for ever when they send more requests in a period than it allows. */
export async function startStrictTsa({ requests, periodMs }: { requests: number; periodMs: number }) {
  const tsa = await startTsa();
  const arrivals: number[] = [];
  let isBlocked = false;
  const door = createServer(async (request, response) => {
    const now = performance.now();
    arrivals.push(now);
    isBlocked ||= arrivals.filter((at) => at > now - periodMs).length > requests;
    const body = Buffer.concat(await request.toArray());
    if (isBlocked) return void response.writeHead(403).end();
    const headers = { 'content-type': 'application/timestamp-query' };
    const answer = await fetch(tsa.url, { method: 'POST', body, headers }).catch(() => undefined);
    if (!answer) return void response.destroy();
    const type = answer.headers.get('content-type') ?? '';
    response.writeHead(answer.status, { 'content-type': type }).end(Buffer.from(await answer.arrayBuffer()));
  });
  await new Promise<void>((resolve) => door.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    door.closeAllConnections();
    door.close();
  });
  const strict: RunningTsa = { ...tsa, url: `http://127.0.0.1:${(door.address() as AddressInfo).port}/` };
  return { tsa: strict, arrivals, isBlocked: () => isBlocked };
}
