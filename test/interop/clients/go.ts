import { goProgram } from '../../../scripts/stack/cache.ts';
import type { TimeStampClient } from './client.ts';

const timestampCli = 'github.com/sigstore/timestamp-authority/v2/cmd/timestamp-cli@v2.1.3';

export const goClient: TimeStampClient = {
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
};
