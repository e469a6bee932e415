import { createHash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { derOf, parseDer } from '../../../src/shared/rfc3161/asn1/der.ts';
import {
  addTimeStamp,
  encodeEvidenceRecord,
  issueResponse,
  type SigningIdentity,
  timeStampRenewalOf,
} from '../../../src/shared/rfc3161/index.ts';
import { randomSerial } from '../../../src/shared/runtime/random-octets.ts';
import { createPki, issueCrl, issueIntermediate, issueSigner, type Pki, pem } from '../../support/certificates.ts';
import { folderWith, only } from '../../support/cli.ts';
import { mainText } from '../../support/page-text.ts';
import { postJson, verifyRaw } from '../../support/requests.ts';
import { type Service, startService } from '../../support/service.ts';
import { ask } from '../../support/tsa-lab.ts';
import { providersSettings } from '../../support/tsa-service.ts';

/** The claims of API, command and page about the same token. */

const dayMs = 24 * 3_600_000;
const nowMs = Math.floor(Date.now() / 1000) * 1000;
const at = (days: number) => nowMs + days * dayMs;
const iso = (timeMs: number) => new Date(timeMs).toISOString().replace('.000Z', 'Z');
const ago = { nowMs: at(-900) };

const content = 'the file';
const digest = createHash('sha256').update(content).digest();
const hash = digest.toString('hex');

const qualified = createPki(ago);
const plain = createPki(ago);
const stranger = createPki(ago);

/** DER of a TimeStampToken over a digest, at a time in days from now. */
function stamp(identity: SigningIdentity, days: number, imprint: Buffer = digest): Buffer {
  const request = ask({ digest: imprint, nonce: undefined }).der;
  const moment = { timeMs: at(days), serial: randomSerial() };
  return derOf(parseDer(issueResponse({ identity, policies: ['2.999.1'], accuracy: { seconds: 1 } }, request, moment)).children[1]!);
}

const signerOf = ({ intermediate }: Pki, name: string, validDays: readonly [number, number] = [-800, 800]) =>
  issueSigner(intermediate, { nowMs, commonName: name, notBeforeMs: at(validDays[0]), notAfterMs: at(validDays[1]) });

const ended = signerOf(qualified, 'Ended', [-800, -10]);
const replaced = signerOf(qualified, 'Replaced');
const stolen = signerOf(qualified, 'Stolen');
const unlisted = issueSigner(issueIntermediate(qualified.root, { ...ago, algorithm: 'p-256', commonName: 'CA without a list' }), {
  nowMs,
  commonName: 'Unlisted',
  notBeforeMs: at(-800),
});

/** In force 100 days ago, when most of these tokens are made; the list a week later shows replaced and stolen keys. */
const inForce = { number: 1n, thisUpdateMs: at(-101), nextUpdateMs: at(-99) };
const revoked = [
  { serialNumber: replaced.serialNumber, revokedAtMs: at(-93), reason: 4 },
  { serialNumber: stolen.serialNumber, revokedAtMs: at(-93), reason: 1 },
];
const list = issueCrl({ ...inForce, revoked }, qualified.intermediate);
const listOfRoot = issueCrl({ ...inForce, revoked: [] }, qualified.root);
const lists = [list, listOfRoot].map((crl) => pem('X509 CRL', crl)).join('');

let service: Service;
const closing: (() => void | Promise<void>)[] = [];
beforeAll(async () => {
  const provider = (pki: Pki) => ({ tsa: { pki, url: 'http://127.0.0.1:9', server: undefined as never } });
  const entries = [{ ...provider(qualified), crl: Buffer.from(lists), qualified: true }, provider(plain)];
  service = await startService({ settings: providersSettings(entries, (close) => void closing.push(close)), workers: 0, keep: true });
});
afterAll(async () => {
  await service.stop();
  for (const close of closing) await close();
});

async function page(token: string, given = ''): Promise<string> {
  const headers = { accept: 'application/xhtml+xml' };
  const response = await service.fetch('/verify', { method: 'POST', headers, body: new URLSearchParams({ token, hash: given }) });
  return mainText(await response.text());
}

/** The claims of all three about a token of the file, given as this text. */
async function judgeEverywhere(token: string, file = content) {
  const given = createHash('sha256').update(file).digest('hex');
  const anchors = pem('CERTIFICATE', qualified.root.certificate) + pem('CERTIFICATE', plain.root.certificate);
  const { run } = folderWith({ 'a.txt': file, 'a.txt.tst': token, 'anchors.pem': anchors, 'lists.crl': lists });
  const command = ['verify', '--json', '--ca', 'anchors.pem', '--crl', 'lists.crl', 'a.txt'];
  const { body } = await postJson(service, '/api/v1/verify/v1/raw?details=true', { token, hash: given });
  return { api: body, command: only(await run(command)), page: await page(token, given) };
}

const base64 = (der: Buffer) => der.toString('base64');

const refused = (verdict: string, code: string) => ({ valid: false, verdict, reason: expect.stringMatching(`^${code}: `) });
const unknown = (why: string) => ({
  valid: true,
  revocation: [{ status: 'unknown', list: null, reason: why }, {}],
  not_checked: expect.arrayContaining([expect.stringMatching(new RegExp(`^whether CN=.* was revoked: ${why}$`))]),
});
const notListed = 'no revocation list of its issuer is available';
const outdated = 'the list of its issuer was outdated at genTime';
const expired = 'stolen after its certificate expired';
const good = { status: 'good', list: { this_update: iso(at(-101)), next_update: iso(at(-99)) }, revoked_at: null, reason: null };

describe('V10, V11: API, command and page agree about', () => {
  test.each<[name: string, token: Buffer | string, claims: object, shown: string | RegExp, file?: string]>([
    [
      'a good token: its signer, accuracy, policy, and that no certificate was revoked',
      stamp(qualified.signer, -100),
      {
        ...{ valid: true, verdict: 'valid', policy: '2.999.1', accuracy_seconds: 1 },
        signer: { subject: 'CN=Development TSA,O=qstamp development' },
        trust_anchor: { subject: 'CN=Root CA,O=qstamp development' },
        ...{ certificates_ended_at: null, revocation: [good, good], not_checked: [] },
      },
      'Not revoked, says the list of CN=Time-Stamping CA,O=qstamp development',
    ],
    [
      'url-safe base64 without padding',
      stamp(plain.signer, -1).toString('base64url'),
      { verdict: 'valid' },
      'Yes: this is the fingerprint that was stamped.',
    ],
    [
      'base64 in lines',
      base64(stamp(plain.signer, -1)).replace(/.{64}/g, '$&\r\n'),
      { verdict: 'valid' },
      'Yes: this is the fingerprint that was stamped.',
    ],
    [
      'an untrusted TSA',
      stamp(stranger.signer, -1),
      refused('not_proved', 'untrusted_root'),
      /^(?!.*(proves nothing|not valid)).*not proved/is,
    ],
    [
      'an untrusted TSA and another file',
      stamp(stranger.signer, -1),
      refused('not_valid', 'imprint_mismatch'),
      /use the evidence record/,
      'b',
    ],
    [
      'an untrusted TSA whose certificate had ended',
      stamp(signerOf(stranger, 'Late', [-800, -10]), -1),
      refused('not_valid', 'certificate_not_valid_at_gen_time'),
      'certificate_not_valid_at_gen_time',
    ],
    [
      'a certificate that has ended since (V5)',
      stamp(ended, -100),
      { valid: true, certificates_ended_at: iso(at(-10)), not_checked: [expect.stringContaining(expired)] },
      expired,
    ],
    [
      'a certificate that was replaced later',
      stamp(replaced, -100),
      { valid: true, revocation: [{ status: 'revoked', revoked_at: iso(at(-93)), reason: 'superseded' }, { status: 'good' }] },
      /Revoked .* \(superseded\), says the list/,
    ],
    ['a key that was stolen later', stamp(stolen, -100), refused('not_valid', 'certificate_revoked'), 'certificate_revoked'],
    ['a CA that no list is at hand of', stamp(unlisted, -100), unknown(notListed), `Whether it was revoked is not known: ${notListed}.`],
    ['a list that was no longer in force', stamp(qualified.signer, -50), unknown(outdated), `is not known: ${outdated}.`],
  ])('%s', async (_name, token, claims, shown, file = content) => {
    const said = await judgeEverywhere(typeof token === 'string' ? token : base64(token), file);
    expect(said).toMatchObject({ api: claims, command: claims });
    expect(said.page).toMatch(shown);
  });

  test('a hash in upper case, and hashes in other algorithms: a wrong one refuses, an unused one is listed', async () => {
    const token = base64(stamp(plain.signer, -1));
    const upper = hash.toUpperCase();
    const judge = async (...hashes: string[]) =>
      (await postJson(service, '/api/v1/verify/v1/raw?details=true', { token, hash: upper, hashes })).body;
    expect(await judge(upper)).toMatchObject({ valid: true });
    expect(await page(token, upper)).toContain('Yes: this is the fingerprint that was stamped.');
    expect(await judge('0'.repeat(64))).toMatchObject({ valid: false, reason: expect.stringMatching(/^imprint_mismatch: /) });
    const unused = 'the hashes in other algorithms: the token holds one hash only';
    expect((await judge('0'.repeat(128))).not_checked).toContain(unused);
  });
});

test('V10: revocation lists in a request count if their issuer signed them', async () => {
  const token = base64(stamp(plain.signer, -100));
  const revoked = [{ serialNumber: plain.signer.serialNumber, revokedAtMs: at(-93), reason: 1 }];
  const revoking = ({ intermediate }: Pki) => issueCrl({ number: 1n, thisUpdateMs: at(-90), nextUpdateMs: at(90), revoked }, intermediate);
  const judge = (...lists: readonly Buffer[]) =>
    postJson(service, '/api/v1/verify/v1/raw', { token, revocation_lists: lists.map((one) => one.toString('base64')) });
  expect((await judge()).body).toMatchObject({ valid: true });
  expect((await judge(revoking(plain))).body).toMatchObject({ valid: false, reason: expect.stringMatching(/^certificate_revoked:/) });
  // Another CA with the same name.
  expect((await judge(revoking(stranger))).body).toMatchObject({ valid: true });
  for (const wrong of [Buffer.from('no list'), Buffer.alloc(256 * 1024 + 1, 0x30)]) {
    const { status, body } = await judge(wrong);
    expect([status, body]).toMatchObject([422, { detail: [{ type: 'value_error', loc: ['body', 'revocation_lists'] }] }]);
  }
});

describe('V12: a record is qualified if some initial part holds by itself with qualified tokens only', () => {
  function renewed(record: Buffer, identity: SigningIdentity, days: number): Buffer {
    const { firstList, imprint } = timeStampRenewalOf(record);
    return addTimeStamp(record, { token: stamp(identity, days, imprint.digest), reducedHashtree: [firstList] }, 'last_chain');
  }
  const recordOf = (identity: SigningIdentity, days: number) => encodeEvidenceRecord('sha256', { token: stamp(identity, days) });

  test.each([
    ['a qualified token', recordOf(qualified.signer, -100), true],
    ['one that is not', recordOf(plain.signer, -100), false],
    ['a qualified token under a renewal that is not', renewed(recordOf(qualified.signer, -100), plain.signer, -95), true],
    ['a stolen key, renewed before by another who is not', renewed(recordOf(stolen, -100), plain.signer, -95), false],
    ['a stolen key, renewed before by another who is', renewed(recordOf(stolen, -100), qualified.signer, -95), true],
    ['an ended certificate, renewed in time by another who is not', renewed(recordOf(ended, -100), plain.signer, -95), false],
    ['an ended certificate, renewed in time by another who is', renewed(recordOf(ended, -100), qualified.signer, -95), true],
    ['the same under a further one that is not', renewed(renewed(recordOf(ended, -100), qualified.signer, -95), plain.signer, -90), true],
    ['a renewal that is, above one that is not', renewed(renewed(recordOf(ended, -100), plain.signer, -95), qualified.signer, -90), false],
    ['a token that is not, under a renewal that is', renewed(recordOf(plain.signer, -100), qualified.signer, -95), false],
  ])('%s', async (_name, record, isQualified) => {
    expect((await verifyRaw(service, base64(record))).body).toMatchObject({ valid: true, is_qualified: isQualified });
  });
});
