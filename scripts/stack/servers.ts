import { engineAnswers, startComposeServer } from './compose.ts';
import type { StackContext } from './context.ts';
import { canInstallPackages } from './debian.ts';
import { hasDocumentDb, startDocumentDb } from './documentdb.ts';
import { startMongod } from './mongod.ts';
import { StepError } from './progress.ts';
import { installRedis, oldestRedis, startRedisProgram } from './redis.ts';
import { findProgram, findVersion } from './run.ts';
import type { ServerOptions, StackServer } from './server-process.ts';
import { startTestContainer } from './test-containers.ts';

/**
 * Starts Redis from the first source that this machine has: a container engine, the program on PATH, or Debian's packages (CONTRIBUTING.md,
 * "Local servers"). The same order applies to MongoDB. `npm start` uses compose's containers, which keep their data; tests use those of testcontainers.
 *
 * @throws StepError that tells the user how to make one of the sources available
 */
export async function startRedis(context: StackContext, options: ServerOptions = {}): Promise<StackServer> {
  const contained = await startContained(context, 'redis', options);
  if (contained) return contained;
  const found = await findOnPath(context, 'redis-server', oldestRedis);
  if (found) return startRedisProgram(context, found.program, found.source, options);
  if (!canInstallPackages()) throw await nothingToBeHad(context, 'Redis', 'redis-server 6.2', 'REDIS_URL');
  return startRedisProgram(context, await installRedis(context), "Redis of Debian's package redis-tools", options);
}

export async function startMongo(context: StackContext, options: ServerOptions = {}): Promise<StackServer> {
  const contained = await startContained(context, 'mongodb', options);
  if (contained) return contained;
  const found = await findOnPath(context, 'mongod', [6, 0]);
  if (found) return startMongod(context, found.program, found.source, options);
  if (!canInstallPackages() && !hasDocumentDb(context)) throw await nothingToBeHad(context, 'MongoDB', 'mongod 6', 'MONGODB_URL');
  return startDocumentDb(context, options);
}

const startContained = (context: StackContext, name: 'redis' | 'mongodb', options: ServerOptions) =>
  context.durable ? startComposeServer(context, name, options) : startTestContainer(context, name, options);

async function findOnPath(context: StackContext, name: string, oldest: readonly [number, number]) {
  const program = findProgram(name);
  if (program === undefined) return undefined;
  const { text, usable } = await findVersion(program, oldest, context);
  if (usable) return { program, source: `${name} ${text}, found on PATH` };
  context.progress.say(`  ${program} is ${text}; ${oldest.join('.')} or newer is needed`);
  return undefined;
}

/** The error on a machine that has none of the sources. `engineAnswers` is true here only if Docker Compose is missing. */
async function nothingToBeHad(context: StackContext, title: string, program: string, setting: string): Promise<StepError> {
  const [why, remedy] = (await engineAnswers(context))
    ? ['the container engine has no Docker Compose 2.24 or newer', 'install Docker Compose']
    : ['no container engine answers', 'start Docker or Podman'];
  const others = `no ${program} or newer is on PATH, and packages cannot be installed here (no apt-get, or neither root nor sudo)`;
  const ways = `${remedy}, or set ${setting} to a running ${title}, or put ${program.split(' ')[0]} on PATH`;
  return new StepError(`Finding a ${title}`, `${why}, ${others}`, ways);
}
