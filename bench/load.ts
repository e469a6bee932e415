import { connect } from 'node:net';

export interface LoadResult {
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly failed: number;
}

const answerHead = /^HTTP\/1\.1 (\d{3})[\s\S]*?content-length: (\d+)/i;

/**
 * Posts the same body over `connections` kept-alive sockets, each waiting for its answer before it asks again, for `seconds`.
 * Written for one purpose so that the generator takes little of the two cores that it shares with what it measures.
 */
export async function load(options: {
  url: string;
  headers: Record<string, string>;
  body: string;
  connections: number;
  seconds: number;
}): Promise<LoadResult> {
  const { hostname, port, pathname } = new URL(options.url);
  const head = Object.entries({
    host: `${hostname}:${port}`,
    'content-length': String(Buffer.byteLength(options.body)),
    ...options.headers,
  });
  const request = `POST ${pathname} HTTP/1.1\r\n${head.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n${options.body}`;
  const latencies: number[] = [];
  let failed = 0;
  const startedAt = performance.now();
  const endsAt = startedAt + options.seconds * 1000;

  const drive = () =>
    new Promise<void>((resolve, reject) => {
      const socket = connect(Number(port), hostname).setNoDelay(true).setEncoding('latin1');
      let received = '';
      let askedAt = 0;
      const ask = () => {
        askedAt = performance.now();
        socket.write(request);
      };
      socket
        .on('error', reject)
        .on('connect', ask)
        .on('data', (data: string) => {
          received += data;
          const bodyAt = received.indexOf('\r\n\r\n') + 4;
          const parsed = bodyAt > 3 ? answerHead.exec(received) : null;
          if (!parsed || received.length < bodyAt + Number(parsed[2])) return;
          if (parsed[1] !== '201') failed += 1;
          const now = performance.now();
          latencies.push(now - askedAt);
          received = '';
          if (now < endsAt) return ask();
          socket.destroy();
          resolve();
        });
    });

  await Promise.all(Array.from({ length: options.connections }, drive));
  const seconds = (performance.now() - startedAt) / 1000;
  latencies.sort((a, b) => a - b);
  const at = (share: number) => latencies[Math.min(latencies.length - 1, Math.floor(latencies.length * share))] ?? Number.NaN;
  return { perSecond: latencies.length / seconds, p50Ms: at(0.5), p99Ms: at(0.99), failed };
}
