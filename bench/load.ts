import { connect } from 'node:net';

export interface LoadResult {
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly failed: number;
}

const answerHead = /^HTTP\/1\.1 (\d{3})[\s\S]*?content-length: (\d+)/i;

/**
 * Sends the same request over `connections` kept-alive sockets for `seconds`. Each socket waits for the answer before the next request. It is written
 * for this purpose, so that it uses little of the two cores that it shares with the measured service.
 */
export async function load(options: {
  url: string;
  /** Paths that are used in turn instead of the path of `url`. */
  paths?: readonly string[];
  /** The method of the request; default POST. */
  method?: 'GET';
  headers?: Record<string, string>;
  body?: string | Buffer;
  connections: number;
  seconds: number;
  /** The status of a successful answer; default 201. */
  status?: number;
}): Promise<LoadResult> {
  const { hostname, port, pathname } = new URL(options.url);
  const { paths = [pathname], method = 'POST', body = '' } = options;
  const head = Object.entries({
    host: `${hostname}:${port}`,
    'content-length': String(Buffer.byteLength(body)),
    ...options.headers,
  });
  const lines = head.map(([name, value]) => `${name}: ${value}\r\n`).join('');
  const requests = paths.map((path) =>
    Buffer.concat([Buffer.from(`${method} ${path} HTTP/1.1\r\n${lines}\r\n`, 'latin1'), Buffer.from(body)]),
  );
  let sent = 0;
  const expected = String(options.status ?? 201);
  const latencies: number[] = [];
  let failed = 0;
  const startedAt = performance.now();
  const endsAt = startedAt + options.seconds * 1000;

  // All sockets read into one buffer: a readable stream for each socket would take a fifth of the time of this process.
  const buffer = Buffer.alloc(64 * 1024);
  const drive = () =>
    new Promise<void>((resolve, reject) => {
      /** The part of an answer's head that has arrived. After the head, the bytes of the answer are only counted. */
      let head = '';
      let missing = 0;
      let status = '';
      let askedAt = 0;
      const ask = () => {
        askedAt = performance.now();
        socket.write(requests[sent % requests.length]!);
        sent += 1;
      };
      const take = (length: number): boolean => {
        if (status === '') {
          head += buffer.toString('latin1', 0, length);
          const bodyAt = head.indexOf('\r\n\r\n') + 4;
          const parsed = bodyAt > 3 ? answerHead.exec(head) : null;
          if (!parsed) return true;
          [, status = ''] = parsed;
          missing = bodyAt + Number(parsed[2]) - head.length;
        } else missing -= length;
        if (missing > 0) return true;
        if (status !== expected) failed += 1;
        const now = performance.now();
        latencies.push(now - askedAt);
        [head, status] = ['', ''];
        if (now < endsAt) {
          ask();
        } else {
          resolve();
          socket.destroy();
        }
        return true;
      };
      const socket = connect({ port: Number(port), host: hostname, noDelay: true, onread: { buffer, callback: take } }, ask)
        .on('error', reject)
        .on('close', () => reject(new Error('the server closed a connection')));
    });

  await Promise.all(Array.from({ length: options.connections }, drive));
  const seconds = (performance.now() - startedAt) / 1000;
  latencies.sort((a, b) => a - b);
  const at = (share: number) => latencies[Math.min(latencies.length - 1, Math.floor(latencies.length * share))] ?? Number.NaN;
  return { perSecond: latencies.length / seconds, p50Ms: at(0.5), p99Ms: at(0.99), failed };
}
