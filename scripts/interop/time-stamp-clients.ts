import { copyFileSync, globSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { findProgram, installPackages } from '../stack/administrator.ts';
import { cached, recipeKey } from '../stack/cache.ts';
import { checkoutDir, type StackContext } from '../stack/context.ts';
import { CommandError, runCommand } from '../stack/run-command.ts';
import { startDoorRecorder } from './door-recorder.ts';

/** What a client is given. */
interface Meeting {
  readonly context: StackContext;
  /** The start of the service's addresses. */
  readonly url: string;
  /** A folder of the client's own. */
  readonly dir: string;
  /** PEM of the TSA's root certificate. */
  readonly rootFile: string;
  /** A key and a self-signed certificate to sign code and documents with, PEM. */
  readonly keyFile: string;
  readonly certificateFile: string;
  /** Runs a program in `dir`; answers its output. @throws CommandError */
  run(program: string, ...args: readonly string[]): Promise<string>;
}

interface TimeStampClient {
  readonly name: string;
  /** Makes something with a time-stamp in it. @throws CommandError */
  stamp(meeting: Meeting): Promise<unknown>;
  /** Lets the client verify what it made; absent where it cannot. @throws CommandError */
  verify?(meeting: Meeting): Promise<unknown>;
}

/** What each client of PyPI needs; in places of their own, since they do not agree on the version of what they share. */
const pythonPackages = {
  'rfc3161-client': ['rfc3161-client==1.0.9'],
  'tsp-client': ['tsp-client==0.2.1', 'cryptography==37.0.4'],
  pyHanko: ['pyhanko==0.38.0', 'aiohttp==3.14.5', 'requests==2.34.2'],
} as const;
const npmPackages = ['@sigstore/sign@5.1.0'];

const failed = (what: string): never => {
  throw new CommandError(what, '');
};

/** Debian's package of a program, where the machine lacks it. */
async function ensureProgram(context: StackContext, program: string, debianPackage: string): Promise<void> {
  if (findProgram(program) === undefined) await installPackages(context, [debianPackage]);
}

const pythonPlace = (context: StackContext, name: keyof typeof pythonPackages): Promise<string> =>
  cached(context, `interop-${name.toLowerCase()}`, recipeKey(...pythonPackages[name]), async (folder) => {
    const python = findProgram('python3') ?? failed('there is no python3 on PATH');
    await runCommand(python, ['-m', 'venv', folder], context);
    await runCommand(join(folder, 'bin/python'), ['-m', 'pip', 'install', '--quiet', ...pythonPackages[name]], context);
  });

const npmPlace = (context: StackContext): Promise<string> =>
  cached(context, 'interop-npm', recipeKey(...npmPackages), async (folder) => {
    writeFileSync(join(folder, 'package.json'), '{"private":true}');
    await runCommand('npm', ['install', '--no-audit', '--no-fund', '--ignore-scripts', ...npmPackages], { ...context, cwd: folder });
  });

/** A client of test/interop/time-stamp-clients.py. */
function pythonClient(name: keyof typeof pythonPackages): TimeStampClient {
  const script = join(checkoutDir, 'test/interop/time-stamp-clients.py');
  const drive = async (verb: string, { context, run, url, rootFile, keyFile, certificateFile }: Meeting) =>
    run(join(await pythonPlace(context, name), 'bin/python'), script, name, verb, `${url}/api/v1/tsa`, rootFile, keyFile, certificateFile);
  return { name, stamp: (meeting) => drive('stamp', meeting), verify: (meeting) => drive('verify', meeting) };
}

const password = 'interop';

/** Strangers that take the address of a TSA. */
export const timeStampClients: readonly TimeStampClient[] = [
  {
    name: 'openssl-curl',
    stamp: async ({ run, url, rootFile }) => {
      await run('openssl', 'ts', '-query', '-data', rootFile, '-sha512', '-cert', '-out', 'request.tsq');
      const header = 'Content-Type: application/timestamp-query';
      await run('curl', '--silent', '--fail', '--header', header, '--data-binary', '@request.tsq', '--output', 'answer.tsr', `${url}/tsa`);
    },
    verify: ({ run, rootFile }) => run('openssl', 'ts', '-verify', '-queryfile', 'request.tsq', '-in', 'answer.tsr', '-CAfile', rootFile),
  },
  {
    name: 'osslsigncode',
    stamp: async ({ context, dir, run, url, keyFile, certificateFile }) => {
      await ensureProgram(context, 'osslsigncode', 'osslsigncode');
      // A Windows executable that comes with pip.
      const place = await pythonPlace(context, 'rfc3161-client');
      const [executable] = globSync('lib/python*/site-packages/pip/_vendor/distlib/t64.exe', { cwd: place });
      copyFileSync(join(place, executable ?? failed('pip holds no Windows executable')), join(dir, 'program.exe'));
      const signing = ['-certs', certificateFile, '-key', keyFile, '-h', 'sha256', '-ts', `${url}/api/v1/tsa`];
      await run('osslsigncode', 'sign', ...signing, '-in', 'program.exe', '-out', 'signed.exe');
    },
    verify: async ({ run, rootFile, certificateFile }) => {
      const output = await run('osslsigncode', 'verify', '-in', 'signed.exe', '-CAfile', certificateFile, '-TSA-CAfile', rootFile);
      if (!/Timestamp Server Signature verification: ok/.test(output)) failed(output);
    },
  },
  {
    name: 'jarsigner',
    stamp: async ({ context, dir, run, url, rootFile }) => {
      await ensureProgram(context, 'jarsigner', 'default-jdk-headless');
      const store = ['-keystore', 'store.p12', '-storepass', password];
      const key = [
        '-alias',
        'code',
        '-keyalg',
        'EC',
        '-groupname',
        'secp256r1',
        '-dname',
        'CN=Interop',
        '-ext',
        'ExtendedKeyUsage=codeSigning',
      ];
      await run('keytool', '-genkeypair', ...store, ...key);
      await run('keytool', '-importcert', '-noprompt', ...store, '-alias', 'tsa', '-file', rootFile);
      writeFileSync(join(dir, 'content.txt'), 'hello\n');
      await run('jar', '--create', '--file', 'signed.jar', 'content.txt');
      await run('jarsigner', ...store, '-tsa', `${url}/api/v1/tsa`, '-tsadigestalg', 'SHA-384', 'signed.jar', 'code');
    },
    verify: async ({ run }) => {
      const output = await run(
        'jarsigner',
        '-verify',
        '-verbose',
        '-certs',
        '-keystore',
        'store.p12',
        '-storepass',
        password,
        'signed.jar',
      );
      const isTimed = output.includes('jar verified.') && /Timestamped by "[^"]+" on/.test(output);
      if (!isTimed || /TSA certificate chain is invalid|no timestamp/i.test(output)) failed(output);
    },
  },
  pythonClient('rfc3161-client'),
  pythonClient('tsp-client'),
  pythonClient('pyHanko'),
  {
    name: '@sigstore/sign',
    stamp: async ({ context, run, url }) => {
      const entry = join(await npmPlace(context), 'node_modules/@sigstore/sign');
      const drive = `const { TSAWitness } = require(${JSON.stringify(entry)});
        const content = { $case: 'messageSignature', messageSignature: { signature: Buffer.from('a signature') } };
        new TSAWitness({ tsaBaseURL: ${JSON.stringify(url)} }).testify(content).then(({ rfc3161Timestamps }) => {
          require('node:fs').writeFileSync('answer.tsr', rfc3161Timestamps[0].signedTimestamp);
        });`;
      await run(process.execPath, '--input-type=commonjs', '--eval', drive);
    },
  },
];

/** A key and a self-signed certificate that code and documents may be signed with. */
async function makeSigner({ context, dir }: { context: StackContext; dir: string }) {
  const [keyFile, certificateFile] = [join(dir, 'key.pem'), join(dir, 'certificate.pem')];
  const uses = ['keyUsage=critical,digitalSignature,nonRepudiation', 'extendedKeyUsage=codeSigning,emailProtection'];
  const key = ['-newkey', 'rsa:2048', '-noenc', '-keyout', keyFile, '-out', certificateFile, '-days', '30', '-subj', '/CN=Interop'];
  await runCommand('openssl', ['req', '-x509', ...key, ...uses.flatMap((use) => ['-addext', use])], context);
  return { keyFile, certificateFile };
}

/** Why it failed, in one line; undefined: it did not. */
async function faultOf(step: () => Promise<unknown>): Promise<string | undefined> {
  try {
    await step();
    return undefined;
  } catch (error) {
    if (error instanceof CommandError) return error.message.trim().split('\n').slice(-6).join('\n    ');
    throw error;
  }
}

/** What we say of all that a client was answered: by the token, and by the id of its stamp. */
async function faultOfReplies(
  url: string,
  replies: readonly { reply: Buffer; tokenId: string | undefined }[],
): Promise<string | undefined> {
  if (replies.length === 0) return 'it asked for no time-stamp';
  for (const { reply, tokenId } of replies) {
    const body = JSON.stringify({ token: reply.toString('base64') });
    const raw = await fetch(`${url}/api/v1/verify/v1/raw`, { method: 'POST', headers: { 'content-type': 'application/json' }, body });
    const byId = await fetch(`${url}/api/v1/verify/v1/token/${tokenId}`);
    for (const answer of [raw, byId]) {
      const { valid, reason } = (await answer.json()) as { valid: boolean; reason: string | null };
      if (valid !== true) return String(reason);
    }
  }
  return undefined;
}

/** Lets each client have a time-stamp of the service at `url`; answers the lines of a table, and whether all is well. */
export async function meetTimeStampClients(
  clients: readonly TimeStampClient[],
  context: StackContext,
  { url, rootFile }: { url: string; rootFile: string },
): Promise<{ isGood: boolean; rows: string[] }> {
  if (clients.length === 0) return { isGood: true, rows: [] };
  const columns = (cells: readonly string[]) =>
    cells
      .map((cell) => cell.padEnd(24))
      .join('')
      .trimEnd();
  const rows = [columns(['time-stamp client', 'stamped', 'verified by the client', 'verified by us'])];
  let isGood = true;
  const signerDir = join(context.dataDir, 'signer');
  mkdirSync(signerDir);
  const signer = await makeSigner({ context, dir: signerDir });
  for (const { name, stamp, verify } of clients) {
    const dir = join(context.dataDir, `client-${name.replace(/\W/g, '-')}`);
    mkdirSync(dir);
    const recorder = await startDoorRecorder(url);
    const run: Meeting['run'] = (program, ...args) => runCommand(program, args, { signal: context.signal, cwd: dir });
    const meeting: Meeting = { context, url: recorder.url, dir, rootFile, ...signer, run };
    try {
      await context.progress.step(name, async () => {
        const stamped = await faultOf(() => stamp(meeting));
        const verified = stamped === undefined && verify ? await faultOf(() => verify(meeting)) : undefined;
        const ours = await faultOfReplies(url, recorder.recorded);
        const faults = [stamped, verified, ours].filter((fault) => fault !== undefined);
        isGood &&= faults.length === 0;
        const theirs = verify === undefined || stamped !== undefined ? '—' : verified === undefined ? 'yes' : 'NO';
        rows.push(
          columns([name, stamped === undefined ? 'yes' : 'NO', theirs, ours === undefined ? 'yes' : 'NO']),
          ...faults.map((fault) => `    ${fault}`),
        );
      });
    } finally {
      await recorder.stop();
    }
  }
  return { isGood, rows };
}
