import { execFileSync, spawn } from 'node:child_process';
import { generateKeyPairSync, sign, verify } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { createTrustStore, encodeRequest, issueResponse, type TsaProfile, verifyResponse } from '../src/shared/rfc3161/index.ts';
import { randomSerial } from '../src/shared/runtime/random-octets.ts';
import { createPki } from '../src/tsa/pki.ts';
import { DEVELOPMENT_POLICY } from '../src/tsa/server.ts';
import { median, rate } from './rate.ts';

/**
 * What a verification costs beside OpenSSL's in-process `TS_RESP_verify_response` and beside the bare P-256 signature check that is in
 * it. The three are timed in turns in one run, one at a time, so the ratios hold on a busy machine too.
 * Run: `node bench/verify.ts`; it compiles `openssl-verify.c`, which needs a C compiler and libcrypto's headers (Debian: gcc,
 * libc6-dev and libssl-dev). Exits 1 when a ratio is missed.
 */

const WANTED = { openssl: 0.8, raw: 0.1 };
const ROUNDS = 9;
const ROUND_MS = 250;

/** One token of the development TSA with intermediate and root, all P-256, and the exchange that it came from. */
function makeExchange() {
  const nowMs = Date.now();
  const pki = createPki({ nowMs });
  const profile: TsaProfile = { identity: pki.signer, policies: [DEVELOPMENT_POLICY], accuracy: { seconds: 1 } };
  const request = encodeRequest({ imprint: { algorithm: 'sha256', digest: Buffer.alloc(32, 7) }, nonce: Buffer.alloc(8, 5) });
  return { nowMs, rootPem: pki.rootPem, request, answer: issueResponse(profile, request, { timeMs: nowMs, serial: randomSerial() }) };
}

/** Starts the C program; each call of `rate` is one round of it. */
function startOpenssl(exchange: ReturnType<typeof makeExchange>) {
  const dir = mkdtempSync(join(tmpdir(), 'qstamp-bench-'));
  const at = (name: string) => join(dir, name);
  try {
    execFileSync('cc', ['-O2', join(import.meta.dirname, 'openssl-verify.c'), '-lcrypto', '-o', at('openssl-verify')], {
      stdio: 'inherit',
    });
  } catch (error) {
    rmSync(dir, { recursive: true });
    throw new Error('the OpenSSL side cannot be compiled: it needs gcc, libc6-dev and libssl-dev', { cause: error });
  }
  writeFileSync(at('tsr'), exchange.answer);
  writeFileSync(at('tsq'), exchange.request);
  writeFileSync(at('root.pem'), exchange.rootPem);
  const child = spawn(at('openssl-verify'), [at('tsr'), at('tsq'), at('root.pem')], { stdio: ['pipe', 'pipe', 'inherit'] });
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
  return {
    rate: async (): Promise<number> => {
      child.stdin.write(`${ROUND_MS}\n`);
      const { value, done } = await lines.next();
      if (done) throw new Error('OpenSSL refused the token');
      return Number(value);
    },
    close: async () => {
      child.stdin.end();
      if (child.exitCode === null) await once(child, 'exit');
      rmSync(dir, { recursive: true });
    },
  };
}

const exchange = makeExchange();
const { nowMs, request, answer } = exchange;
const trust = createTrustStore({ anchors: [exchange.rootPem] });
const ours = async () => {
  const result = await verifyResponse(answer, { trust, nowMs, request, sentAtMs: nowMs, receivedAtMs: nowMs });
  if (!result.ok) throw new Error(`${result.code}: ${result.detail}`);
};

const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const data = Buffer.alloc(200, 1);
const signature = sign('sha256', data, privateKey);
const raw = () => {
  if (!verify('sha256', data, publicKey, signature)) throw new Error('the signature does not hold');
};

const openssl = startOpenssl(exchange);
const rounds: { ours: number; openssl: number; raw: number }[] = [];
try {
  for (let warm = 0; warm < 3; warm++) [await rate(ours, ROUND_MS), await rate(raw, ROUND_MS), await openssl.rate()];
  for (let round = 0; round < ROUNDS; round++)
    rounds.push({ ours: await rate(ours, ROUND_MS), openssl: await openssl.rate(), raw: await rate(raw, ROUND_MS) });
} finally {
  await openssl.close();
}

const line = (name: string, of: (round: (typeof rounds)[number]) => number, digits: number) =>
  console.log(`${name.padEnd(48)} ${median(rounds.map(of)).toFixed(digits).padStart(9)}`);
line('verifyResponse, certificates known (1/s)', (r) => r.ours, 0);
line('OpenSSL TS_RESP_verify_response, in C (1/s)', (r) => r.openssl, 0);
line('raw P-256 verification, node:crypto (1/s)', (r) => r.raw, 0);
const reached = { openssl: median(rounds.map((r) => r.ours / r.openssl)), raw: median(rounds.map((r) => r.ours / r.raw)) };
for (const against of ['openssl', 'raw'] as const) {
  const verdict = reached[against] >= WANTED[against] ? 'reached' : 'MISSED';
  console.log(`verification: ${reached[against].toFixed(3)} of ${against}, wanted ${WANTED[against]}: ${verdict}`);
  if (verdict === 'MISSED') process.exitCode = 1;
}
