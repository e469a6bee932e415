import { readFile } from 'node:fs/promises';
import { composeImage } from '../../scripts/stack/compose.ts';
import { CommandError } from '../../scripts/stack/run.ts';
import type { Deployment, Trial } from './deployment.ts';

const mostBytes = 250_000_000;

/** Runs a script with Node.js inside the API's container. */
const inside = ({ compose }: Deployment, script: string) => compose(['exec', '-T', 'api', 'node', '-e', script]);

export const contents: Trial = {
  title: 'the image contains only what it runs, and lists it',
  limitSeconds: 60,
  run: async (deployment) => {
    const { Size, Config } = await deployment.imageOf(composeImage('api'));
    if (Size >= mostBytes) throw new Error(`it has ${Size} bytes`);
    if (Config.Labels['org.opencontainers.image.title'] !== 'qstamp' || Config.User !== '1000:1000')
      throw new Error(JSON.stringify(Config));
    const told = await inside(
      deployment,
      `const { existsSync, readFileSync, readdirSync } = require('node:fs');
       const bom = JSON.parse(readFileSync('sbom.cdx.json', 'utf8'));
       const extra = ['/bin/sh', '/usr/bin', '/app/test', '/app/bench', '/app/node_modules/typescript', '/app/node_modules/vitest'].filter((path) => existsSync(path));
       const licences = readFileSync('licences.txt', 'utf8').split('\\n' + '='.repeat(80) + '\\n').length;
       console.log(JSON.stringify({ format: bom.bomFormat, components: bom.components.length, licences, extra }));`,
    );
    const { format, components, licences, extra } = JSON.parse(told);
    if (format !== 'CycloneDX' || components < 100 || licences < components - 10 || extra.length > 0) throw new Error(told);
    return `${Math.round(Size / 1_000_000)} MB; no shell, tests or tools; SBOM of ${components} components, ${licences} licence texts`;
  },
};

export const confinement: Trial = {
  title: 'every container: user, read-only root, limits',
  limitSeconds: 60,
  run: async (deployment) => {
    const users: string[] = [];
    for (const service of ['api', 'worker', 'tsa', 'redis', 'mongodb', 'mail', 'prometheus']) {
      for (const { HostConfig, State, Config } of await deployment.inspect(service)) {
        const status = await statusOf(State.Pid);
        const isConfined =
          HostConfig.ReadonlyRootfs && (HostConfig.Memory ?? 0) > 0 && /^0+$/.test(status.CapEff) && status.NoNewPrivs === '1';
        if (!isConfined || status.uid === '0') throw new Error(`${service}: ${JSON.stringify({ HostConfig, status, Config })}`);
        users.push(`${service} ${status.uid}`);
      }
    }
    const writing = `const { writeFileSync } = require('node:fs');
      for (const path of ['/app/x', '/x', '/config/x', '/run/qstamp/x']) try { writeFileSync(path, ''); console.log(path); } catch {}
      writeFileSync('/tmp/x', '');`;
    const written = (await inside(deployment, writing)).trim();
    if (written !== '') throw new Error(`it could write to ${written}`);
    return `no capability, nothing to write to but /tmp; users: ${users.join(', ')}`;
  },
};

/** Facts about a process from the kernel of this machine. */
async function statusOf(pid: number): Promise<{ uid: string; CapEff: string; NoNewPrivs: string }> {
  const text = await readFile(`/proc/${pid}/status`, 'utf8');
  const field = (name: string) => new RegExp(`^${name}:\\s+(\\S+)`, 'm').exec(text)?.[1] ?? '';
  return { uid: field('Uid'), CapEff: field('CapEff'), NoNewPrivs: field('NoNewPrivs') };
}

export const signals: Trial = {
  title: 'stop: SIGTERM reaches the first process, and it ends in order',
  limitSeconds: 120,
  run: async (deployment) => {
    const began = Date.now();
    await deployment.compose(['stop', 'api', 'worker', 'tsa']);
    const took = Date.now() - began;
    const ended = (await Promise.all(['api', 'worker', 'tsa'].map(deployment.inspect))).flat();
    const codes = ended.map(({ State }) => State.ExitCode);
    if (codes.some((code) => code !== 0) || took > 20_000) throw new Error(`exit codes ${codes.join(', ')} after ${took} ms`);
    try {
      await deployment.compose(['down', '--volumes', '--remove-orphans']);
    } catch (error) {
      if (!(error instanceof CommandError)) throw error;
    }
    return `all with code 0 after ${(took / 1_000).toFixed(1)} s`;
  },
};
