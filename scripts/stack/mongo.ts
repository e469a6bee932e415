import type { StackContext } from './context.ts';
import { startDocumentDb } from './documentdb.ts';
import { hasDocumentDbTree } from './documentdb-tree.ts';
import { startMongod } from './mongod.ts';
import type { ServerOptions, StackServer } from './server.ts';
import { type Source, startFromFirstSource } from './sources.ts';

const source: Source = {
  title: 'MongoDB',
  service: 'mongodb',
  setting: 'MONGODB_URL',
  program: 'mongod',
  oldest: [6, 0],
  startProgram: startMongod,
  hasPackages: hasDocumentDbTree,
  startFromPackages: startDocumentDb,
};

/** Starts the first server that speaks MongoDB's protocol here; see `startFromFirstSource`. */
export const startMongo = (context: StackContext, options: ServerOptions = {}): Promise<StackServer> =>
  startFromFirstSource(context, source, options);
