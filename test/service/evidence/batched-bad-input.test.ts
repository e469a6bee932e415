import { expect, test } from 'vitest';
import { tries } from '../../support/depth.ts';
import { recordManipulations } from '../../support/record-manipulations.ts';
import { postJson } from '../../support/requests.ts';
import { sharedTsaService } from '../../support/tsa-service.ts';

test('V4, S14: records that are cut, re-ordered, mixed or of another stamp are invalid, each with its code, and never a 5xx', async () => {
  const { service, tsa } = await sharedTsaService();
  const kinds = Object.entries(recordManipulations(tsa.pki.signer));
  for (const [kind, make] of kinds) {
    for (let run = 0; run < tries(2_000, 12); run += 1) {
      const { record, hash, hashes, codes } = make();
      const { status, body } = await postJson(service, '/api/v1/verify/v1/raw?details=true', {
        token: record.toString('base64'),
        hash,
        hashes,
      });
      const told = `${kind}: ${record.toString('base64')} for ${hash}: ${body.reason}`;
      expect([status, body.valid, codes.test(String(body.reason ?? ''))], told).toEqual([
        200,
        kind === 'none' || kind === 'renewals as they were made',
        true,
      ]);
    }
  }
});
