import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { pem } from '../support/certificates.ts';
import { openssl } from '../support/openssl-tsa.ts';
import { withFile } from '../support/with-file.ts';

/** The OpenSSL on this machine gives the verdicts that test/verifier/pkits.test.ts expects. */

const pkits: { anchor: string; authorities: Record<string, string>; cases: { name: string; want: string; certificate: string }[] } =
  JSON.parse(readFileSync(new URL('../fixtures/pkits/paths.json', import.meta.url), 'utf8'));

const pemOf = (base64: string): Buffer => Buffer.from(pem('CERTIFICATE', Buffer.from(base64, 'base64')));

it.each(pkits.cases)('openssl verify -policy_check on $name: $want', async ({ want, certificate }) => {
  const untrusted = Buffer.concat(Object.values(pkits.authorities).map(pemOf));
  const { ok } = await withFile(pemOf(pkits.anchor), (anchor) =>
    withFile(untrusted, (others) =>
      withFile(pemOf(certificate), (file) =>
        openssl('verify', '-policy_check', '-policy', 'anyPolicy', '-CAfile', anchor, '-untrusted', others, file),
      ),
    ),
  );
  expect(ok ? 'accept' : 'refuse').toBe(want);
});
