import { copyFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { cached, goProgram, recipeKey } from '../../../scripts/stack/cache.ts';
import { checkoutDir, type StackContext } from '../../../scripts/stack/context.ts';
import { runCommand } from '../../../scripts/stack/run.ts';
import type { Meeting, TimeStampClient } from './client.ts';

const timestampCli = 'github.com/sigstore/timestamp-authority/v2/cmd/timestamp-cli@v2.1.3';
const tspclient = 'github.com/notaryproject/tspclient-go@v1.0.0';

/** test/interop/tspclient.go, built. */
const tspclientProgram = async (context: StackContext): Promise<string> => {
  const source = join(checkoutDir, 'test/interop/tspclient.go');
  const place = await cached(context, 'go-tspclient', recipeKey(tspclient), async (folder) => {
    writeFileSync(join(folder, 'go.mod'), 'module interop\n');
    copyFileSync(source, join(folder, 'main.go'));
    await runCommand('go', ['get', tspclient], { ...context, cwd: folder });
    await runCommand('go', ['build', '-o', 'tspclient'], { ...context, cwd: folder });
  });
  return join(place, 'tspclient');
};

async function driveTspclient({ context, run, url, rootFile }: Meeting, verb: 'stamp' | 'verify'): Promise<void> {
  await run(await tspclientProgram(context), verb, `${url}/api/v1/tsa`, rootFile, 'answer.tsr');
}

export const goClients: readonly TimeStampClient[] = [
  {
    name: 'timestamp-cli',
    stamp: async ({ context, run, url, rootFile }) => {
      const options = ['--timestamp_server', url, '--artifact', rootFile, '--hash', 'sha384', '--out', 'answer.tsr'];
      await run(await goProgram(context, timestampCli), 'timestamp', ...options);
    },
    verify: async ({ context, run, url, rootFile }) => {
      await run('curl', '--silent', '--fail', '--output', 'chain.pem', `${url}/api/v1/timestamp/certchain`);
      const trust = ['--root-certificates', rootFile, '--intermediate-certificates', 'chain.pem'];
      await run(await goProgram(context, timestampCli), 'verify', '--timestamp', 'answer.tsr', '--artifact', rootFile, ...trust);
    },
  },
  {
    name: 'tspclient-go',
    stamp: (meeting) => driveTspclient(meeting, 'stamp'),
    verify: (meeting) => driveTspclient(meeting, 'verify'),
  },
];
