import { randomBytes } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { checkoutDir } from '../../scripts/stack/context.ts';
import { runCommand } from '../../scripts/stack/run.ts';
import { containerOf } from '../../src/shared/archive/asics.ts';
import { storedFile } from '../../src/shared/archive/stored-zip.ts';
import {
  addTimeStamp,
  buildHashTree,
  encodeEvidenceRecord,
  hashTreeRenewalOf,
  issueResponse,
  type MessageImprint,
  type RenewalHashes,
  renewEvidenceRecord,
  timeStampRenewalOf,
} from '../../src/shared/rfc3161/index.ts';
import { DIGEST_OCTETS, type DigestAlgorithm } from '../../src/shared/rfc3161/x509/algorithms.ts';
import { randomSerial } from '../../src/shared/runtime/random-octets.ts';
import { emptyCrl } from '../support/certificates.ts';
import { createRecordLab, hash, imprintOf, type RecordLab } from '../support/record-lab.ts';
import { type BouncyCastle, startBouncyCastle } from './bouncy-castle.ts';
import { type Dss, startDss } from './dss.ts';

/** What one side made and the other judged. */
export interface Meeting {
  readonly what: string;
  /** `taken`, or why not. */
  readonly verdict: string;
  readonly isRight: boolean;
}

const algorithms: readonly DigestAlgorithm[] = ['sha256', 'sha384', 'sha512'];
const documentsOf = (count: number) => Array.from({ length: count }, () => randomBytes(20));
const taken = (what: string, verdict: string): Meeting => ({ what, verdict, isRight: verdict === 'taken' });
const refused = (what: string, verdict: string): Meeting => ({ what, verdict, isRight: verdict.startsWith('refused') });

/** The folder of each stranger's packages. */
export interface Jars {
  readonly bouncyCastle: string;
  readonly dss: string;
}

/** A stranger who judges records. */
interface Stranger {
  readonly name: string;
  /** `taken`, or why not. */
  judge(record: Buffer, document: Buffer): Promise<string>;
}

/**
 * Records made here are judged by Bouncy Castle and by DSS, and records of Bouncy Castle here; all trust one root. Containers are judged by
 * DSS.
 */
export async function exchangeRecords(java: string, jars: Jars): Promise<readonly Meeting[]> {
  const lab = createRecordLab();
  const { root, intermediate } = lab.tsa.pki;
  // Bouncy Castle takes no time that lies ahead of its clock.
  const answer = (request: Buffer) => issueResponse(lab.tsa.profile, request, { timeMs: Date.now(), serial: randomSerial() });
  const castle = startBouncyCastle(java, jars.bouncyCastle, answer);
  try {
    const dss = await startDss(java, jars.dss, {
      anchor: root.certificate,
      crls: [root, intermediate].map((ca) => emptyCrl(ca, Date.now())),
    });
    try {
      const strangers: Stranger[] = [
        { name: 'Bouncy Castle', ...castle },
        { name: 'DSS', ...dss },
      ];
      const ours: Meeting[] = [];
      for (const stranger of strangers) {
        ours.push(...(await directOnes(lab, stranger)), ...(await batches(lab, stranger)), ...(await renewals(lab, stranger)));
      }
      return [...ours, ...(await containersTo(dss, await containersOf(lab))), ...(await foreignOnes(lab, castle))];
    } finally {
      await dss.close();
    }
  } finally {
    await castle.close();
  }
}

const stampNow = (lab: RecordLab, { imprint }: Pick<RenewalHashes, 'imprint'>) => lab.stamp(imprint, { timeMs: Date.now() });

async function directOnes(lab: RecordLab, stranger: Stranger): Promise<readonly Meeting[]> {
  const meetings: Meeting[] = [];
  for (const algorithm of algorithms) {
    const [document, other] = documentsOf(2) as [Buffer, Buffer];
    const record = encodeEvidenceRecord(algorithm, { token: stampNow(lab, { imprint: imprintOf(hash(algorithm, document), algorithm) }) });
    meetings.push(taken(`ours to ${stranger.name}, direct, ${algorithm}`, await stranger.judge(record, document)));
    meetings.push(refused(`ours to ${stranger.name}, direct, ${algorithm}, another document`, await stranger.judge(record, other)));
  }
  return meetings;
}

/** The record of each document of a batch. */
function batchOf(lab: RecordLab, documents: readonly Buffer[], algorithm: DigestAlgorithm): (index: number) => Buffer {
  const blinds = documents.map(() => randomBytes(DIGEST_OCTETS[algorithm]));
  const groups = documents.map((document) => [hash(algorithm, document)]);
  const tree = buildHashTree(algorithm, groups, blinds);
  const token = stampNow(lab, { imprint: imprintOf(tree.root, algorithm) });
  return (index) => encodeEvidenceRecord(algorithm, { token, reducedHashtree: tree.reducedHashtreeOf(index) });
}

async function batches(lab: RecordLab, stranger: Stranger): Promise<readonly Meeting[]> {
  const meetings: Meeting[] = [];
  for (const algorithm of algorithms) {
    for (const size of algorithm === 'sha256' ? [1, 2, 3, 7, 64, 4_096] : [3]) {
      const documents = documentsOf(size);
      const recordOf = batchOf(lab, documents, algorithm);
      for (const index of new Set([0, size >> 1, size - 1])) {
        const what = `ours to ${stranger.name}, ${index + 1} of a batch of ${size}, ${algorithm}`;
        meetings.push(taken(what, await stranger.judge(recordOf(index), documents[index]!)));
        const other = documents[(index + 1) % size]!;
        if (size > 1) meetings.push(refused(`${what}, another document`, await stranger.judge(recordOf(index), other)));
      }
    }
  }
  return meetings;
}

/**
 * The token that renews a record, over what the record needs alone or in one tree with that of others, as the service asks for it.
 *
 * @param newDigest of the document: a hash-tree renewal, in one tree with others
 */
function renewedOf(lab: RecordLab, record: Buffer, isAmongOthers: boolean, newDigest?: MessageImprint): Buffer {
  const renewal = newDigest ? hashTreeRenewalOf(record, newDigest) : timeStampRenewalOf(record);
  const { algorithm, firstList } = renewal;
  if (!isAmongOthers) {
    const reducedHashtree = firstList.length > 1 ? [firstList] : undefined;
    return addTimeStamp(record, { token: stampNow(lab, renewal), reducedHashtree }, 'last_chain');
  }
  const random = () => randomBytes(DIGEST_OCTETS[algorithm]);
  const tree = buildHashTree(algorithm, [[random()], firstList, [random()]], [random(), random(), random()]);
  const token = stampNow(lab, { imprint: imprintOf(tree.root, algorithm) });
  return renewEvidenceRecord(record, [{ token, path: tree.pathOf(1), newDigest }])!;
}

async function renewals(lab: RecordLab, stranger: Stranger): Promise<readonly Meeting[]> {
  const meetings: Meeting[] = [];
  const document = randomBytes(20);
  const direct = encodeEvidenceRecord('sha256', { token: stampNow(lab, { imprint: imprintOf(hash('sha256', document)) }) });
  const batched = batchOf(lab, [document, ...documentsOf(2)], 'sha256')(0);
  for (const [kind, original] of Object.entries({ direct, batched })) {
    for (const isAmongOthers of [false, true]) {
      let record = original;
      const what = `ours to ${stranger.name}, ${kind}, ${isAmongOthers ? 'in one tree with others' : 'alone'}`;
      for (let times = 1; times <= 3; times++) {
        record = renewedOf(lab, record, isAmongOthers);
        meetings.push(taken(`${what}, renewed ${times} times`, await stranger.judge(record, document)));
      }
      meetings.push(refused(`${what}, renewed 3 times, another document`, await stranger.judge(record, randomBytes(20))));
      const rehashed = hashTreeRenewalOf(record, imprintOf(hash('sha512', document), 'sha512'));
      record = isAmongOthers
        ? renewedOf(lab, record, true, imprintOf(hash('sha512', document), 'sha512'))
        : addTimeStamp(record, { token: stampNow(lab, rehashed) }, 'sha512');
      meetings.push(taken(`${what}, with a chain of SHA-512`, await stranger.judge(record, document)));
      meetings.push(refused(`${what}, with a chain of SHA-512, another document`, await stranger.judge(record, randomBytes(20))));
      record = renewedOf(lab, record, isAmongOthers);
      meetings.push(taken(`${what}, with a chain of SHA-512, renewed`, await stranger.judge(record, document)));
    }
  }
  return meetings;
}

interface Packed {
  readonly what: string;
  readonly container: Buffer;
  /** With another document in place of the one that was stamped. */
  readonly bent: Buffer;
}

/** ASiC-S containers that `qstamp pack` writes, with a token, and with records: direct, batched and renewed. */
async function containersOf(lab: RecordLab): Promise<readonly Packed[]> {
  const documents = documentsOf(3);
  const [document] = documents as [Buffer, ...Buffer[]];
  const token = stampNow(lab, { imprint: imprintOf(hash('sha256', document)) });
  const batched = batchOf(lab, documents, 'sha256')(0);
  const proofs = {
    'its token': token,
    'its record': encodeEvidenceRecord('sha256', { token }),
    'its record of a batch': batched,
    'its renewed record': renewedOf(lab, batched, true),
  };
  const packed = Object.entries(proofs).map(async ([what, proof]) => ({
    what,
    container: await packedByCommand(document, proof),
    // The command packs no file but the stamped one.
    bent: await buffer(containerOf(storedFile('document.bin', randomBytes(20)), proof)),
  }));
  return Promise.all(packed);
}

async function containersTo(dss: Dss, packed: readonly Packed[]): Promise<readonly Meeting[]> {
  const meetings: Meeting[] = [];
  for (const { what, container, bent } of packed) {
    const meeting = `a container to DSS, with ${what}`;
    meetings.push(taken(meeting, await dss.judgeContainer(container)));
    meetings.push(refused(`${meeting}, another document`, await dss.judgeContainer(bent)));
  }
  return meetings;
}

async function packedByCommand(content: Buffer, proof: Buffer): Promise<Buffer> {
  const cwd = mkdtempSync(join(tmpdir(), 'qstamp-pack-'));
  try {
    writeFileSync(join(cwd, 'document.bin'), content);
    writeFileSync(join(cwd, 'document.bin.tst'), proof);
    const command = [join(checkoutDir, 'bin/qstamp.mjs'), 'pack', 'document.bin'];
    await runCommand(process.execPath, command, { cwd, env: { ...process.env, XDG_CONFIG_HOME: cwd } });
    return readFileSync(join(cwd, 'document.bin.asics'));
  } finally {
    rmSync(cwd, { recursive: true });
  }
}

async function foreignOnes(lab: RecordLab, castle: BouncyCastle): Promise<readonly Meeting[]> {
  const judge = async (record: Buffer, document: Buffer) => {
    const digests = algorithms.map((algorithm) => imprintOf(hash(algorithm, document), algorithm));
    const result = await lab.judge(record, digests, { nowMs: Date.now() });
    return result.ok ? 'taken' : `refused: ${result.code}`;
  };
  const meetings: Meeting[] = [];
  const meet = async (what: string, record: Buffer, documents: readonly Buffer[]) => {
    for (const document of documents) meetings.push(taken(`theirs, ${what}`, await judge(record, document)));
    meetings.push(refused(`theirs, ${what}, another document`, await judge(record, randomBytes(20))));
  };
  for (const algorithm of algorithms) {
    for (const size of [1, 2, 3, 7]) {
      const documents = documentsOf(size);
      const records = await castle.batch(
        algorithm,
        documents.map((document) => [document]),
      );
      const isFound = await Array.fromAsync(documents, async (document) => {
        const verdicts = await Promise.all(records.map((record) => judge(record, document)));
        return verdicts.filter((verdict) => verdict === 'taken').length;
      });
      const verdict = isFound.every((count) => count === 1) && records.length === size ? 'taken' : `records a document: ${isFound}`;
      meetings.push(taken(`theirs, batch of ${size}, ${algorithm}`, verdict));
    }
    const group = documentsOf(3);
    await meet(`a group of 3 documents, ${algorithm}`, (await castle.batch(algorithm, [group]))[0]!, group);
  }
  const document = randomBytes(20);
  let record = (await castle.batch('sha256', [[document]]))[0]!;
  for (let times = 1; times <= 3; times++) {
    record = await castle.renew(record);
    await meet(`renewed ${times} times`, record, [document]);
  }
  record = await castle.rehash(record, 'sha512', document);
  await meet('with a chain of SHA-512', record, [document]);
  await meet('with a chain of SHA-512, renewed', await castle.renew(record), [document]);
  return meetings;
}
