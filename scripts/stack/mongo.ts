import { canInstallPackages, findProgram } from './administrator.ts';
import type { StackContext } from './context.ts';
import { dockerAnswers, startMongoContainer } from './docker.ts';
import { startDocumentDb } from './documentdb.ts';
import { hasDocumentDbTree } from './documentdb-tree.ts';
import { startMongod } from './mongod.ts';
import { StepError } from './progress.mjs';
import type { ServerOptions, StackServer } from './server.ts';
import { findVersion } from './version.ts';

const oldest = [6, 0] as const;

/**
 * Starts the first server that speaks MongoDB's protocol here: a Docker engine, `mongod` on PATH, DocumentDB from Debian's packages.
 *
 * @throws StepError that names what would make one of them work.
 */
export async function startMongo(context: StackContext, options: ServerOptions = {}): Promise<StackServer> {
  if (await dockerAnswers(context)) return startMongoContainer(context, options);
  const program = findProgram('mongod');
  if (program !== undefined) {
    const version = await findVersion(program, oldest, context);
    if (version.usable) return startMongod(context, program, `mongod ${version.text}, found on PATH`, options);
    context.progress.say(`  ${program} is ${version.text}; MongoDB ${oldest.join('.')} or newer is needed`);
  }
  if (canInstallPackages() || hasDocumentDbTree(context)) return startDocumentDb(context, options);
  throw new StepError(
    'Finding a MongoDB',
    'no Docker engine answers, no mongod 6 or newer is on PATH, and packages cannot be installed here (no apt-get, or neither root nor sudo)',
    'set MONGODB_URL to a running MongoDB, or start Docker, or put mongod on PATH',
  );
}
