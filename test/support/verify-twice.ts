import { generateKeyPairSync, sign } from 'node:crypto';
import { createSignatureThread } from '../../src/workers/providers/signature-thread.ts';

/** Verifies a good and a forged signature, twice, and prints the verdicts; ends when nothing is left to do. */
const { privateKey, publicKey: key } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const data = Buffer.from('what is signed');
const good = { digest: 'sha256', key, data, signature: sign('sha256', data, privateKey) };
const forged = { ...good, data: Buffer.from('something else') };
const verifySignature = createSignatureThread();
for (let i = 0; i < 2; i += 1) console.log(...(await Promise.all([verifySignature(good), verifySignature(forged)])));
