import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, readlinkSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findCompose, findProject } from '../../scripts/stack/compose.ts';
import { checkoutDir } from '../../scripts/stack/context.ts';
import { dieWithParent, runCommand } from '../../scripts/stack/run.ts';

const parts = [
  ...['package.json', 'package-lock.json', '.npmrc', 'docker-compose.yml', 'README.md'],
  ...['bin', 'clients', 'config', 'deploy', 'src', 'scripts', 'views'],
];

/** A command that runs in a checkout, in its own process group like at a terminal. */
export interface RunningCommand {
  readonly pid: number;
  /** All output so far, both streams. */
  output(): string;
  /** Resolves with the match once it is in the output; rejects with the output if the command ends earlier. */
  until(pattern: RegExp): Promise<RegExpExecArray>;
  /** Sends a signal to the whole group, like Ctrl-C at a terminal. */
  interrupt(signal?: NodeJS.Signals): void;
  readonly exitCode: Promise<number | null>;
}

/** A separate checkout with the same sources, and the dependencies unless they should be missing. */
export interface Checkout {
  readonly dir: string;
  run(command: string, args: readonly string[], env?: NodeJS.ProcessEnv): RunningCommand;
  /** Processes that run in this checkout or name it in their arguments. */
  processes(): string[];
  /** Removes it, with the containers and volumes of its `npm start`. */
  dispose(): Promise<void>;
}

const inherited = [
  ...['PATH', 'HOME', 'XDG_CACHE_HOME', 'TMPDIR', 'LANG', 'DEBIAN_MIRROR'],
  ...['DOCKER_HOST', 'DOCKER_CONFIG', 'DOCKER_TLS_VERIFY', 'DOCKER_CERT_PATH'],
];

function run(dir: string, command: string, args: readonly string[], env: NodeJS.ProcessEnv): RunningCommand {
  const base = Object.fromEntries(inherited.map((name) => [name, process.env[name]]));
  const [file, wrapped] = dieWithParent(command, args);
  const child = spawn(file, wrapped, { cwd: dir, env: { ...base, ...env }, detached: true, stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  const changed = new EventTarget();
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text;
      changed.dispatchEvent(new Event('change'));
    });
  }
  const exitCode = once(child, 'close').then(([code]): number | null => {
    changed.dispatchEvent(new Event('end'));
    return code;
  });
  const pid = child.pid;
  if (pid === undefined) throw new Error(`${command} could not be started`);
  return {
    pid,
    output: () => output,
    until: (pattern) =>
      new Promise((resolve, reject) => {
        const look = () => {
          const found = pattern.exec(output);
          if (found) resolve(found);
        };
        changed.addEventListener('change', look);
        changed.addEventListener('end', () => reject(new Error(`ended without ${pattern}:\n${output}`)));
        look();
      }),
    interrupt: (signal = 'SIGINT') => void process.kill(-pid, signal),
    exitCode,
  };
}

function listProcesses(dir: string): string[] {
  return readdirSync('/proc')
    .filter((entry) => /^\d+$/.test(entry))
    .flatMap((entry) => {
      try {
        const command = readFileSync(`/proc/${entry}/cmdline`, 'utf8').replaceAll('\0', ' ').trim();
        // PostgreSQL's processes have their own root; their open files show where their data is.
        const mounts = readFileSync(`/proc/${entry}/mountinfo`, 'utf8');
        const isHere = command.includes(dir) || readlinkSync(`/proc/${entry}/cwd`).startsWith(dir) || mounts.includes(`${dir}/`);
        return isHere && command ? [`${entry} ${command}`] : [];
      } catch {
        // It ended meanwhile, or we may not read it.
        return [];
      }
    });
}

/** Hard links if possible: they are fast, and an `npm ci` there cannot empty our own folder. */
function copyModules(dir: string): void {
  const copy = (mode: string) => spawnSync('cp', [mode, join(checkoutDir, 'node_modules'), dir], { stdio: 'ignore' }).status === 0;
  if (!copy('-al')) {
    rmSync(join(dir, 'node_modules'), { recursive: true, force: true });
    if (!copy('-a')) throw new Error(`node_modules could not be copied to ${dir}`);
  }
}

async function removeContainers(dir: string): Promise<void> {
  const project = findProject(join(dir, '.local'));
  const [program, ...args] = (project && (await findCompose({ signal: new AbortController().signal }))) || [];
  if (!project || program === undefined) return;
  await runCommand(program, [...args, '--project-name', project, 'down', '--volumes', '--timeout', '5'], { cwd: dir });
}

/** Copies the files that `npm start` needs into a separate folder. */
export function createCheckout({ installed = true } = {}): Checkout {
  const dir = realpathSync(mkdtempSync(join(tmpdir(), 'qstamp-checkout-')));
  for (const part of parts.filter((name) => existsSync(join(checkoutDir, name)))) {
    cpSync(join(checkoutDir, part), join(dir, part), { recursive: true });
  }
  if (installed) copyModules(dir);
  return {
    dir,
    run: (command, args, env = {}) => run(dir, command, args, env),
    processes: () => listProcesses(dir),
    dispose: async () => {
      await removeContainers(dir);
      rmSync(dir, { recursive: true, force: true });
    },
  };
}
