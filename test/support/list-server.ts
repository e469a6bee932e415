import { generateKeyPairSync } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';
import { SCHEMES } from '../../src/shared/rfc3161/issue/sign.ts';
import { type ListOptions, makeListSigner, makeTrustedList } from './trusted-lists.ts';

/** A signer of lists with a key of its own. */
export const newListSigner = (commonName: string) =>
  makeListSigner(generateKeyPairSync('ec', { namedCurve: 'P-256' }), SCHEMES.ecdsaSha256, 'ecdsa-sha256', commonName);

export type Signer = ReturnType<typeof newListSigner>;

/** A web server with trusted lists, as the Commission and the countries have. It stops when the test ends, or by the given `onEnd`. */
export interface ListServer {
  readonly url: string;
  /** By path. A number is the status of the answer, a text the address of a redirect. */
  readonly files: Map<string, Buffer | number | string>;
  /** Signs a list and serves it. Returns the file. */
  publish(path: string, signed: Signer, list: ListOptions): Buffer;
}

export async function startListServer(onEnd: (close: () => void) => void = onTestFinished): Promise<ListServer> {
  const files: ListServer['files'] = new Map();
  const server = createServer((request, response) => {
    const file = files.get(request.url ?? '') ?? 404;
    if (typeof file === 'number') response.writeHead(file).end();
    else if (typeof file === 'string') response.writeHead(302, { Location: file }).end();
    else response.end(file);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onEnd(() => {
    server.closeAllConnections();
    server.close();
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    files,
    publish: (path, signed, list) => {
      const document = makeTrustedList({ ...list, signed });
      files.set(path, document);
      return document;
    },
  };
}
