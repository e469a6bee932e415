// @ts-nocheck: its packages are installed where it is used, not in this checkout.
/**
 * A receipt of what an agent did, signed as a JWS (RFC 7515) and time-stamped. See README.md.
 */
import { createHash } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { basename } from 'node:path';
import { CompactSign, compactVerify, generateKeyPair } from 'jose';
import { Qstamp, requireValid } from 'qstamp-client';

const [result = ''] = process.argv.slice(2);
const qstamp = new Qstamp({ url: process.env.QSTAMP_URL ?? 'http://127.0.0.1:8080' });
const sha256 = (bytes) => createHash('sha256').update(bytes).digest('hex');

// Any members that you and your readers agree on. The time is not among them: the agent could write any time here.
const receipt = { agent: 'my-agent', action: 'write_file', result: basename(result), result_sha256: sha256(await readFile(result)) };

// Your own key is here. A new one lets the example run anywhere.
const { privateKey, publicKey } = await generateKeyPair('Ed25519');
const signed = await new CompactSign(Buffer.from(JSON.stringify(receipt))).setProtectedHeader({ alg: 'Ed25519' }).sign(privateKey);

// The stamp covers the receipt with its signature.
const file = `${basename(result)}.receipt.jws`;
await writeFile(file, signed);
const stamp = await qstamp.stampFile(file);
await writeFile(`${file}.ers`, await qstamp.fetchEvidenceRecord(stamp.token_id));

// What a stranger does: the signature, then the time.
await compactVerify(await readFile(file, 'utf8'), publicKey);
requireValid(await qstamp.verifyFile(file, stamp));
console.log(`${file} existed at ${stamp.issued_at}`);
