import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { StackContext } from '../../scripts/stack/context.ts';
import { CommandError, runCommand } from '../../scripts/stack/run.ts';
import type { Meeting, TimeStampClient } from './clients/client.ts';
import { goClient } from './clients/go.ts';
import { libraryClients } from './clients/libraries.ts';
import { pythonClients } from './clients/python.ts';
import { startDoorRecorder } from './door-recorder.ts';

/** Strangers that take the address of a TSA. */
export const timeStampClients: readonly TimeStampClient[] = [...libraryClients, ...pythonClients, goClient];

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
