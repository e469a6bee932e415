import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { Refusal } from '../../src/shared/rfc3161/refusal/refusal.ts';
import { parseCertificate } from '../../src/shared/rfc3161/x509/certificate.ts';
import { checkValidity } from '../../src/shared/rfc3161/x509/path-rules.ts';
import { createTrustStore } from '../../src/shared/rfc3161/x509/trust-store.ts';

/** NIST's path validation suite: the same verdicts as NIST and OpenSSL. */

interface Pkits {
  anchor: string;
  authorities: Record<string, string>;
  cases: { name: string; want: 'accept' | 'refuse'; certificate: string }[];
}

const pkits: Pkits = JSON.parse(readFileSync(new URL('../fixtures/pkits/paths.json', import.meta.url), 'utf8'));
const der = (base64: string) => Buffer.from(base64, 'base64');
const trust = createTrustStore({ anchors: [der(pkits.anchor)] });
const at = BigInt(Date.UTC(2026, 10, 22)) * 1000n;

const readable = Object.values(pkits.authorities).flatMap((authority) => {
  try {
    return [parseCertificate(der(authority))];
  } catch (error) {
    if (error instanceof Refusal) return [];
    throw error;
  }
});

function verdictOf(certificate: string): string {
  try {
    trust.chainOf(parseCertificate(der(certificate)), readable, (chain) => checkValidity(chain, at, () => false));
    return 'accept';
  } catch (error) {
    if (error instanceof Refusal) return `refuse: ${error.code}`;
    throw error;
  }
}

describe('PKITS (RFC 5280 §6.1)', () => {
  it.each(pkits.cases)('$name: $want', ({ want, certificate }) => {
    expect(verdictOf(certificate)).toMatch(want);
  });
});
