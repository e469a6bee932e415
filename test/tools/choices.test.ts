import { once } from 'node:events';
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { cached } from '../../scripts/stack/cache.ts';
import { answersAsEngine, composeHealthCheck, composeImage, engineAnswers, findCompose } from '../../scripts/stack/compose.ts';
import { createTemporaryContext, type StackContext } from '../../scripts/stack/context.ts';
import { findMirror, installPackages, makeTree } from '../../scripts/stack/debian.ts';
import { findDocumentDbTree } from '../../scripts/stack/documentdb.ts';
import { createProgress } from '../../scripts/stack/progress.ts';
import { installRedis } from '../../scripts/stack/redis.ts';
import { findVersion, isAlive, processTree, runCommand } from '../../scripts/stack/run.ts';
import { startMongo, startRedis } from '../../scripts/stack/servers.ts';
import { describeLogLine } from '../../scripts/stack/service.ts';
import { startStack } from '../../scripts/stack/stack.ts';

let context: StackContext;
let dispose: () => void;
const path = process.env.PATH;
const engine = process.env.DOCKER_HOST;

function write(name: string, text: string): string {
  const file = join(context.dataDir, name);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
  return file;
}

/** A program in `bin`; PATH then contains only this folder. */
function writeProgram(name: string, script: string): string {
  const file = write(`bin/${name}`, `#!/bin/sh\n${script}\n`);
  chmodSync(file, 0o755);
  return file;
}

beforeEach(() => {
  ({ context, dispose } = createTemporaryContext(new AbortController().signal));
  process.env.PATH = join(context.dataDir, 'bin');
  process.env.DOCKER_HOST = `unix://${context.dataDir}/no-engine`;
});
afterEach(() => {
  vi.unstubAllEnvs();
  process.env.PATH = path;
  if (engine === undefined) delete process.env.DOCKER_HOST;
  else process.env.DOCKER_HOST = engine;
  dispose();
});

test('way 1: servers named in the environment are used unchanged, and nothing is started', async () => {
  const env = { REDIS_URL: 'redis://elsewhere', MONGODB_URL: 'mongodb://elsewhere/stamps' };
  const stack = await startStack(context, { env });
  expect(stack).toMatchObject({ redisUrl: env.REDIS_URL, mongoUrl: env.MONGODB_URL, servers: {} });
  await stack.stop();
});

/** A fake engine: it answers only the question whether there is one. */
async function startEngine(statusCode: number, name = 'engine'): Promise<string> {
  const socket = write(`${name}.sock`, '');
  rmSync(socket);
  const server = createServer((request, response) => void response.writeHead(request.url === '/_ping' ? statusCode : 404).end('OK'));
  server.listen(socket);
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  return `unix://${socket}`;
}

/** What is said to the user. */
function listen() {
  const said: string[] = [];
  return { said, listening: { ...context, progress: createProgress((line) => said.push(line)) } };
}

test('way 2: an engine counts if it answers at DOCKER_HOST; its client alone is not enough', async () => {
  writeProgram('docker', 'echo 28.2.2');
  process.env.DOCKER_HOST = `unix://${context.dataDir}/nobody.sock`;
  const { said, listening } = listen();
  expect(await engineAnswers(listening)).toBe(false);
  expect(said).toEqual([`  no container engine answers at DOCKER_HOST=${process.env.DOCKER_HOST}`]);
  process.env.DOCKER_HOST = await startEngine(200);
  expect(await engineAnswers(context)).toBe(true);
  expect(await answersAsEngine(await startEngine(500, 'fails'))).toBe(false);
  expect(await answersAsEngine('ssh://elsewhere')).toBe(false);
});

const hasDocker = existsSync('/var/run/docker.sock');

test.skipIf(hasDocker)('way 2: without DOCKER_HOST, an engine is found where the Docker client has it, or at a usual socket', async () => {
  const found = async () => {
    delete process.env.DOCKER_HOST;
    return (await engineAnswers(context)) && process.env.DOCKER_HOST;
  };
  vi.stubEnv('HOME', join(context.dataDir, 'home'));
  vi.stubEnv('XDG_RUNTIME_DIR', join(context.dataDir, 'run'));
  expect(await found()).toBe(false);
  const podman = await startEngine(200, 'run/podman/podman');
  expect(await found()).toBe(podman);
  const colima = await startEngine(200, 'home/.colima/default/docker');
  expect(await found()).toBe(colima);
  const chosen = await startEngine(200, 'chosen');
  writeProgram('docker', `[ "$1 $2" = "context inspect" ] && echo ${chosen}`);
  expect(await found()).toBe(chosen);
});

test.skipIf(hasDocker)('way 2: an engine that is installed but does not answer is named once, with what to do', async () => {
  vi.stubEnv('HOME', context.dataDir);
  vi.stubEnv('XDG_RUNTIME_DIR', context.dataDir);
  delete process.env.DOCKER_HOST;
  const { said, listening } = listen();
  writeProgram('podman', 'exit 1');
  await engineAnswers(listening);
  await engineAnswers(listening);
  writeProgram('docker', 'exit 1');
  await engineAnswers(listening);
  expect(said).toEqual([
    '  containers are not used: the socket of Podman is off (systemctl --user start podman.socket)',
    '  containers are not used: Docker is installed, but its engine does not answer',
  ]);
});

test('way 2: Docker Compose is used from the version that reads our file, as a plugin or as a program', async () => {
  expect(await findCompose(context)).toBeUndefined();
  writeProgram('docker-compose', 'echo 1.29.2');
  expect(await findCompose(context)).toBeUndefined();
  writeProgram('docker-compose', 'echo 2.40.3');
  expect(await findCompose(context)).toEqual(['docker-compose']);
  writeProgram('docker', 'exit 1');
  expect(await findCompose(context)).toEqual(['docker-compose']);
  writeProgram('docker', 'echo 2.24.0');
  expect(await findCompose(context)).toEqual(['docker', 'compose']);
});

test('way 2: with an engine but no Docker Compose, npm start says so and tries the next way', async () => {
  process.env.DOCKER_HOST = await startEngine(200);
  const { said, listening } = listen();
  await expect(startRedis({ ...listening, durable: true })).rejects.toThrow(
    /has no Docker Compose 2.24 .*\n.*install Docker Compose, or set REDIS_URL/,
  );
  expect(said).toEqual(['  a container engine answers, but there is no Docker Compose 2.24 or newer: continuing without containers']);
});

test('way 2: npm start lets compose run its Redis in the foreground, with a loopback port and the password made by compose', async () => {
  process.env.DOCKER_HOST = await startEngine(200);
  // A fake Docker Compose: records its arguments; its Redis runs from `up` on.
  writeProgram(
    'docker',
    `echo "$START_REDIS_PORT $@" >> "${context.dataDir}/calls"
     case " $* " in
     *" version "*) echo 2.40.3 ;;
     *" cat "*) echo secret ;;
     *" up "*) exec "${process.execPath}" -e "process.on('SIGINT', () => process.exit(0)); require('node:net').createServer().listen(+process.env.START_REDIS_PORT, '127.0.0.1')" ;;
     esac`,
  );
  const server = await startRedis({ ...context, durable: true });
  const ended = server.stop();
  await ended;
  expect(server.url).toBe(`redis://:secret@127.0.0.1:${server.port}`);
  expect(server.source).toContain(composeImage('redis'));
  const files = 'docker-compose.yml --file deploy/npm-start.yml';
  const calls = readFileSync(join(context.dataDir, 'calls'), 'utf8');
  const project = readFileSync(join(context.dataDir, 'compose-project'), 'utf8').trim();
  expect(calls).toContain(` compose --project-name ${project} --file ${files} run --rm --no-deps -T secrets\n`);
  expect(calls).toContain(
    `${server.port} compose --project-name ${project} --file ${files} up --no-deps --no-color --no-log-prefix redis\n`,
  );
  expect(calls).toContain(`exec -T redis ${composeHealthCheck('redis').join(' ')}\n`);
  const kept = join(context.dataDir, 'redis-url');
  expect([readFileSync(kept, 'utf8').trim(), statSync(kept).mode & 0o777]).toEqual([server.url, 0o600]);
});

test('way 3: a program is used from the version that we need', async () => {
  const answer = (version: string) => findVersion(writeProgram('redis-server', `echo "Redis server v=${version} sha=0"`), [6, 2], context);
  expect(await answer('6.2.14')).toEqual({ text: '6.2.14', usable: true });
  expect(await answer('7.0.15')).toEqual({ text: '7.0.15', usable: true });
  expect(await answer('6.0.16')).toEqual({ text: '6.0.16', usable: false });
  expect(await answer('unknown')).toEqual({ text: 'of unknown version', usable: false });
});

describe('way 4: Debian’s packages', () => {
  const asUser = () => onTestFinished(vi.spyOn(process, 'getuid').mockReturnValue(1000).mockRestore);

  test('an old Redis among them is refused by its version', async () => {
    writeProgram('redis-check-rdb', 'echo "Redis server v=6.0.16 sha=0"');
    const own = { ...context, cacheDir: context.dataDir };
    await expect(installRedis(own)).rejects.toThrow(/have Redis 6.0.16; 6.2 is needed\n.*start Docker or Podman, or set REDIS_URL/);
  });

  test('a machine without user namespaces is refused before anything is downloaded', async () => {
    writeProgram('bwrap', 'echo "setting up uid map: Permission denied" >&2; exit 1');
    await expect(findDocumentDbTree(context)).rejects.toThrow(/uid map: Permission denied\n.*apparmor_restrict_unprivileged_userns=0/);
  });

  test('a sudo that asks for a password without a terminal, or refuses, is named', async () => {
    asUser();
    writeProgram('sudo', 'echo "sudo: a password is required" >&2; exit 1');
    await expect(installPackages(context, ['thing'])).rejects.toThrow(/as root failed\n.*there is no terminal to ask in\n.*in a terminal/);
  });

  test('the settings of a proxy reach apt through sudo', async () => {
    asUser();
    vi.stubEnv('https_proxy', 'http://proxy.example:3128');
    writeProgram('sudo', `echo "asked: $@" > ${context.dataDir}/asked`);
    await installPackages(context, ['thing']);
    expect(readFileSync(join(context.dataDir, 'asked'), 'utf8')).toMatch(
      /^asked: -n env https_proxy=http:\/\/proxy.example:3128 flock .* install .*thing$/m,
    );
  });

  test('an old keyring is named', async () => {
    asUser();
    writeProgram('sudo', 'echo "W: GPG error: InRelease: NO_PUBKEY 0123456789ABCDEF" >&2; [ "$*" = "-n true" ]');
    writeProgram('mmdebstrap', '');
    writeProgram('rm', '');
    await expect(makeTree(context, context.dataDir, ['thing'], 'Unpacking')).rejects.toThrow(
      /NO_PUBKEY(.|\n)*keyring.gpg is too old .*debian-archive-keyring/,
    );
  });
});

test('way 5: if no server is available, the error names the three ways', async () => {
  await expect(startRedis(context)).rejects.toThrow(/start Docker .*set REDIS_URL .*redis-server on PATH/);
  await expect(startMongo(context)).rejects.toThrow(/start Docker .*set MONGODB_URL .*mongod on PATH/);
});

test('if two starts fill the cache at once, the first finished result is used, and no partial one is left', async () => {
  process.env.PATH = path;
  const own = { ...context, cacheDir: join(context.dataDir, 'cache') };
  mkdirSync(join(own.cacheDir, 'thing-key.partial-999999999-gone'), { recursive: true });
  const [first, second] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const make = (name: string, waits: Promise<void>) =>
    cached(own, 'thing', 'key', async (folder) => {
      await waits;
      writeFileSync(join(folder, 'made-by'), name);
    });
  const [one, two] = [make('one', first.promise), make('two', second.promise)];
  second.resolve();
  await two;
  first.resolve();
  expect(await one).toBe(await two);
  expect(readFileSync(join(await one, 'made-by'), 'utf8')).toBe('two');
  expect(readdirSync(own.cacheDir)).toEqual(['thing-key']);
});

test('the mirror is the one in the apt settings of the machine', () => {
  const etc = join(context.dataDir, 'apt');
  mkdirSync(etc);
  expect(findMirror(etc)).toBeUndefined();
  write('apt/sources.list.d/debian.sources', 'Types: deb\nURIs: http://mirror.example/debian\nSuites: bookworm\n');
  expect(findMirror(etc)).toBe('http://mirror.example/debian');
  write('apt/sources.list', '# deb http://old.example/debian x main\ndeb [arch=amd64] https://first.example/debian/ bookworm main\n');
  expect(findMirror(etc)).toBe('https://first.example/debian/');
});

test('the terminal shows warnings and errors of the service, and lines that are not log lines', () => {
  expect(describeLogLine('{"level":"info","msg":"ready"}')).toBeUndefined();
  expect(describeLogLine('{"level":"error","msg":"no luck","err":{"message":"refused"}}')).toBe('error: no luck: refused');
  expect(describeLogLine('PORT: got "x"; it takes a number')).toBe('PORT: got "x"; it takes a number');
  expect(describeLogLine('null')).toBe('null');
});

test('an abort ends a command and its children, and is thrown once they have ended', async () => {
  process.env.PATH = path;
  const stop = new AbortController();
  const pids: number[] = [];
  const onLine = (pid: string) => {
    pids.push(...processTree(Number(pid)));
    stop.abort(new Error('enough'));
  };
  await expect(runCommand('sh', ['-c', 'sleep 1000 & echo $$; wait'], { signal: stop.signal, onLine })).rejects.toThrow('enough');
  expect(pids).toHaveLength(2);
  await expect.poll(() => pids.filter(isAlive)).toEqual([]);
});
