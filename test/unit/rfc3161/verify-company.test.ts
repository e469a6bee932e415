import { X509Certificate } from 'node:crypto';
import { expect, onTestFinished, test } from 'vitest';
import { encodeRequest } from '../../../src/shared/rfc3161/tsp/request.ts';
import { verifyResponse } from '../../../src/shared/rfc3161/tsp/verify.ts';
import { createTrustStore } from '../../../src/shared/rfc3161/x509/trust-store.ts';
import { createOpensslTsa } from '../../support/openssl-tsa.ts';

test('a whole answer of OpenSSL with its root beside it: no octet may be changed', async () => {
  const tsa = await createOpensslTsa();
  onTestFinished(() => tsa.close());
  const request = encodeRequest({ imprint: { algorithm: 'sha256', digest: Buffer.alloc(32, 7) }, nonce: Buffer.alloc(16, 9) });
  const sentAtMs = Date.now() - 1_000;
  const answer = await tsa.reply(request);
  const trust = createTrustStore({ anchors: [tsa.rootPem] });
  const accepts = (bytes: Buffer) => verifyResponse(bytes, { trust, request, sentAtMs, receivedAtMs: Date.now(), nowMs: Date.now() }).ok;
  expect(accepts(answer)).toBe(true);
  expect(answer.includes(new X509Certificate(tsa.rootPem).raw)).toBe(true);
  const accepted: string[] = [];
  for (const mask of [0x01, 0x80]) {
    for (const index of answer.keys()) {
      const changed = Buffer.from(answer);
      changed[index] = (changed[index] ?? 0) ^ mask;
      if (accepts(changed)) accepted.push(`${index} ^ ${mask}`);
    }
  }
  expect(accepted).toEqual([]);
});
