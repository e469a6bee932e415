import { copyFileSync, globSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ensureJava, ensureProgram, jarsOf } from '../packages.ts';
import { failed, type Meeting, type TimeStampClient } from './client.ts';
import { placeOf } from './python.ts';

const password = 'interop';

/** Makes a key for signing code in `store.p12`. */
const makeStore = (run: Meeting['run']): Promise<string> =>
  run(
    ...(['keytool', '-genkeypair', '-keystore', 'store.p12', '-storepass', password, '-alias', 'code'] as const),
    ...['-keyalg', 'EC', '-groupname', 'secp256r1', '-dname', 'CN=Interop', '-ext', 'ExtendedKeyUsage=codeSigning'],
  );

/** A Windows executable, which comes with pip. */
async function copyExecutable({ context, dir }: Meeting): Promise<void> {
  const place = await placeOf(context, 'rfc3161-client');
  const [executable] = globSync('lib/python*/site-packages/pip/_vendor/distlib/t64.exe', { cwd: place });
  copyFileSync(join(place, executable ?? failed('pip holds no Windows executable')), join(dir, 'program.exe'));
}

async function verifyExecutable({ run, rootFile }: Meeting, file: string, certificateFile: string): Promise<void> {
  const output = await run('osslsigncode', 'verify', '-in', file, '-CAfile', certificateFile, '-TSA-CAfile', rootFile);
  if (!/Timestamp Server Signature verification: ok/.test(output)) failed(output);
}

/** Those that sign programs. */
export const codeSigningClients: readonly TimeStampClient[] = [
  {
    name: 'osslsigncode',
    stamp: async (meeting) => {
      const { context, run, url, keyFile, certificateFile } = meeting;
      await ensureProgram(context, 'osslsigncode', 'osslsigncode');
      await copyExecutable(meeting);
      const signing = ['-certs', certificateFile, '-key', keyFile, '-h', 'sha256', '-ts', `${url}/api/v1/tsa`];
      await run('osslsigncode', 'sign', ...signing, '-in', 'program.exe', '-out', 'signed.exe');
    },
    verify: (meeting) => verifyExecutable(meeting, 'signed.exe', meeting.certificateFile),
  },
  {
    name: 'jsign',
    stamp: async (meeting) => {
      const { context, run, url } = meeting;
      const java = await ensureJava(context);
      const [jar] = globSync('jsign-*.jar', { cwd: await jarsOf(context, 'jsign') });
      await copyExecutable(meeting);
      await makeStore(run);
      const signing = ['--keystore', 'store.p12', '--storepass', password, '--alias', 'code', '--alg', 'SHA-384'];
      const stamping = ['--tsaurl', `${url}/api/v1/tsa`, '--tsmode', 'RFC3161', '--tsretries', '0'];
      const program = join(await jarsOf(context, 'jsign'), jar ?? failed('Maven brought no jsign'));
      await run(java, '-jar', program, 'sign', ...signing, ...stamping, 'program.exe');
    },
    // jsign verifies nothing: another stranger does.
    verify: async (meeting) => {
      const { context, run } = meeting;
      await ensureProgram(context, 'osslsigncode', 'osslsigncode');
      const store = ['-keystore', 'store.p12', '-storepass', password, '-alias', 'code'];
      await run('keytool', '-exportcert', '-rfc', ...store, '-file', 'code.pem');
      await verifyExecutable(meeting, 'program.exe', 'code.pem');
    },
  },
  {
    name: 'jarsigner',
    stamp: async ({ context, dir, run, url, rootFile }) => {
      await ensureJava(context, 'jarsigner');
      const store = ['-keystore', 'store.p12', '-storepass', password];
      await makeStore(run);
      await run('keytool', '-importcert', '-noprompt', ...store, '-alias', 'tsa', '-file', rootFile);
      writeFileSync(join(dir, 'content.txt'), 'hello\n');
      await run('jar', '--create', '--file', 'signed.jar', 'content.txt');
      await run('jarsigner', ...store, '-tsa', `${url}/api/v1/tsa`, '-tsadigestalg', 'SHA-384', 'signed.jar', 'code');
    },
    verify: async ({ run }) => {
      const store = ['-keystore', 'store.p12', '-storepass', password];
      const output = await run('jarsigner', '-verify', '-verbose', '-certs', ...store, 'signed.jar');
      const isTimed = output.includes('jar verified.') && /Timestamped by "[^"]+" on/.test(output);
      if (!isTimed || /TSA certificate chain is invalid|no timestamp/i.test(output)) failed(output);
    },
  },
];
