import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { StackContext } from '../../../scripts/stack/context.ts';
import { composeImage, containerCommands, dockerAnswers } from '../../../scripts/stack/docker.ts';
import { findMirror } from '../../../scripts/stack/documentdb-tree.ts';
import { startMongo } from '../../../scripts/stack/mongo.ts';
import { startRedis } from '../../../scripts/stack/redis.ts';
import { describeLogLine } from '../../../scripts/stack/service.ts';
import { createTemporaryContext, startStack } from '../../../scripts/stack/stack.ts';
import { findVersion } from '../../../scripts/stack/version.ts';

let context: StackContext;
let dispose: () => void;
const path = process.env.PATH;

function write(name: string, text: string): string {
  const file = join(context.dataDir, name);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
  return file;
}

/** A program in `bin`, which is then all that PATH holds. */
function writeProgram(name: string, script: string): string {
  const file = write(`bin/${name}`, `#!/bin/sh\n${script}\n`);
  chmodSync(file, 0o755);
  return file;
}

beforeEach(() => {
  ({ context, dispose } = createTemporaryContext(new AbortController().signal));
  process.env.PATH = join(context.dataDir, 'bin');
});
afterEach(() => {
  process.env.PATH = path;
  dispose();
});

test('way 1: what the environment names is taken as it is, and nothing is started', async () => {
  const env = { REDIS_URL: 'redis://elsewhere', MONGODB_URL: 'mongodb://elsewhere/stamps' };
  const stack = await startStack(context, { env });
  expect(stack).toMatchObject({ redisUrl: env.REDIS_URL, mongoUrl: env.MONGODB_URL, servers: {} });
  await stack.stop();
});

test('way 2: a Docker client without an engine is no Docker', async () => {
  expect(await dockerAnswers(context)).toBe(false);
  writeProgram('docker', 'exit 1');
  expect(await dockerAnswers(context)).toBe(false);
  writeProgram('docker', 'echo 28.2.2');
  expect(await dockerAnswers(context)).toBe(true);
});

test("way 2: with an engine, compose's image runs with the settings of ours, on loopback, with its data in our folder", async () => {
  // Stands for the engine: writes down what it is told, and answers PING on the port that is published.
  const container = `require('node:net').createServer((socket) => socket.on('data', () => socket.write('+PONG\\r\\n'))).listen(Number(process.argv[1]), '127.0.0.1')`;
  writeProgram(
    'docker',
    `echo "$@" >> "${context.dataDir}/docker-calls"
     [ "$1" = run ] || exit 0
     for word in "$@"; do case "$word" in 127.0.0.1:*) port="\${word#127.0.0.1:}";; esac; done
     exec "${process.execPath}" -e "${container}" "\${port%%:*}"`,
  );
  const server = await startRedis(context);
  await server.stop();
  const calls = readFileSync(join(context.dataDir, 'docker-calls'), 'utf8').split('\n');
  const run = calls.find((call) => call.startsWith('run ')) ?? '';
  expect(calls).toContain(`pull ${composeImage('redis')}`);
  expect(run).toContain(`--rm --name qstamp-`);
  expect(run).toContain(`--publish 127.0.0.1:${server.port}:6379`);
  expect(run).toContain(`--volume ${context.dataDir}/docker-redis:/data ${composeImage('redis')} ${containerCommands.redis.join(' ')}`);
  expect(server.url).toBe(`redis://127.0.0.1:${server.port}`);
  expect(server.source).toContain('because a Docker engine answers');
});

test('way 3: a program counts from the version on that we need', async () => {
  const answer = (version: string) => findVersion(writeProgram('redis-server', `echo "Redis server v=${version} sha=0"`), [6, 2], context);
  expect(await answer('6.2.14')).toEqual({ text: '6.2.14', usable: true });
  expect(await answer('7.0.15')).toEqual({ text: '7.0.15', usable: true });
  expect(await answer('6.0.16')).toEqual({ text: '6.0.16', usable: false });
  expect(await answer('unknown')).toEqual({ text: 'of unknown version', usable: false });
});

test('way 5: where nothing is to be had, the error names the three ways', async () => {
  await expect(startRedis(context)).rejects.toThrow(/set REDIS_URL .*start Docker.*redis-server on PATH/);
  await expect(startMongo(context)).rejects.toThrow(/set MONGODB_URL .*start Docker.*mongod on PATH/);
});

test("the mirror is that of the machine's own apt", () => {
  const etc = join(context.dataDir, 'apt');
  mkdirSync(etc);
  expect(findMirror(etc)).toBeUndefined();
  write('apt/sources.list.d/debian.sources', 'Types: deb\nURIs: http://mirror.example/debian\nSuites: bookworm\n');
  expect(findMirror(etc)).toBe('http://mirror.example/debian');
  write('apt/sources.list', '# deb http://old.example/debian x main\ndeb [arch=amd64] https://first.example/debian/ bookworm main\n');
  expect(findMirror(etc)).toBe('https://first.example/debian/');
});

test('the mirror is not that of security updates or of another distribution', () => {
  const etc = join(context.dataDir, 'apt');
  write(
    'apt/sources.list',
    'deb http://mirror.example/debian-security bookworm-security main\ndeb http://mirror.example/ubuntu noble main\n',
  );
  expect(findMirror(etc)).toBeUndefined();
});

test('the terminal shows warnings and errors of the service, and what is no log line', () => {
  expect(describeLogLine('{"level":"info","msg":"ready"}')).toBeUndefined();
  expect(describeLogLine('{"level":"error","msg":"no luck","err":{"message":"refused"}}')).toBe('error: no luck: refused');
  expect(describeLogLine('PORT: got "x"; it takes a number')).toBe('PORT: got "x"; it takes a number');
  expect(describeLogLine('null')).toBe('null');
});
