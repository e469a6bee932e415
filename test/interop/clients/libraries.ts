import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { checkoutDir } from '../../../scripts/stack/context.ts';
import { startDss } from '../dss.ts';
import { ensureJava, jarsOf, npmPlace } from '../packages.ts';
import { failed, type Meeting, type TimeStampClient } from './client.ts';

const sigstore = '@sigstore/sign@5.1.0';

/** Asks with the means of every Debian: `request.tsq` and `answer.tsr` for what is in `rootFile`. */
async function askByCurl({ run, url, rootFile }: Meeting): Promise<void> {
  await run('openssl', 'ts', '-query', '-data', rootFile, '-sha512', '-cert', '-out', 'request.tsq');
  const header = 'Content-Type: application/timestamp-query';
  await run('curl', '--silent', '--fail', '--header', header, '--data-binary', '@request.tsq', '--output', 'answer.tsr', `${url}/tsa`);
}

async function driveBouncyCastle({ context, run, url, rootFile }: Meeting, verb: 'stamp' | 'verify'): Promise<void> {
  const classes = join(await jarsOf(context, 'bouncy-castle'), '*');
  const program = join(checkoutDir, 'test/interop/time-stamp-client.java');
  await run(await ensureJava(context), '-cp', classes, program, verb, `${url}/api/v1/tsa`, rootFile, 'answer.tsr');
}

/** Those that ask for a time-stamp and nothing more. */
export const libraryClients: readonly TimeStampClient[] = [
  {
    name: 'openssl-curl',
    stamp: askByCurl,
    verify: ({ run, rootFile }) => run('openssl', 'ts', '-verify', '-queryfile', 'request.tsq', '-in', 'answer.tsr', '-CAfile', rootFile),
  },
  {
    name: 'bouncy-castle',
    stamp: (meeting) => driveBouncyCastle(meeting, 'stamp'),
    verify: (meeting) => driveBouncyCastle(meeting, 'verify'),
  },
  {
    name: 'dss',
    stamp: askByCurl,
    // Its trust anchor is the TSA's own certificate, as a trusted list names it.
    verify: async ({ context, run, url, dir, rootFile }) => {
      await run('openssl', 'ts', '-reply', '-in', 'answer.tsr', '-token_out', '-out', 'token.der');
      await run('curl', '--silent', '--fail', '--output', 'chain.pem', `${url}/api/v1/tsa/certchain`);
      await run('openssl', 'x509', '-in', 'chain.pem', '-outform', 'DER', '-out', 'tsa.der');
      const anchor = readFileSync(join(dir, 'tsa.der'));
      const dss = await startDss(await ensureJava(context), await jarsOf(context, 'dss'), { anchor, crls: [] });
      try {
        const verdict = await dss.judge(readFileSync(join(dir, 'token.der')), readFileSync(rootFile));
        if (verdict !== 'taken') failed(verdict);
      } finally {
        await dss.close();
      }
    },
  },
  {
    name: '@sigstore/sign',
    stamp: async ({ context, run, url }) => {
      const entry = join(await npmPlace(context, 'npm', [sigstore]), 'node_modules/@sigstore/sign');
      const drive = `const { TSAWitness } = require(${JSON.stringify(entry)});
        const content = { $case: 'messageSignature', messageSignature: { signature: Buffer.from('a signature') } };
        new TSAWitness({ tsaBaseURL: ${JSON.stringify(url)} }).testify(content).then(({ rfc3161Timestamps }) => {
          require('node:fs').writeFileSync('answer.tsr', rfc3161Timestamps[0].signedTimestamp);
        });`;
      await run(process.execPath, '--input-type=commonjs', '--eval', drive);
    },
  },
];
