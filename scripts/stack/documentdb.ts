import { type StackContext, together } from './context.ts';
import { createGateway, findGateway } from './documentdb-gateway.ts';
import { preparePostgres } from './documentdb-postgres.ts';
import { findDocumentDbTree } from './documentdb-tree.ts';
import type { ManagedProcess } from './managed-process.ts';
import { findFreePort } from './ports.ts';
import type { ServerOptions, StackServer } from './server.ts';

/** DocumentDB's two processes, so that a test can break one of them alone. */
export interface DocumentDbServer extends StackServer {
  readonly postgres: ManagedProcess;
  readonly postgresPort: number;
  readonly gateway: ManagedProcess;
}

/** Starts PostgreSQL with the documentdb extension behind the FerretDB gateway: MongoDB's protocol and semantics, durably stored. */
export async function startDocumentDb(context: StackContext, options: ServerOptions = {}): Promise<DocumentDbServer> {
  const [{ postgres, port: postgresPort }, program] = await together(
    context,
    async (linked) => preparePostgres(linked, await findDocumentDbTree(linked)),
    findGateway,
  );
  const port = await findFreePort(options.preferredPort);
  const gateway = createGateway(context, program, postgresPort, port);

  const stop = async () => {
    await gateway.stop();
    await postgres.stop();
  };
  const start = async (signal?: AbortSignal) => {
    await postgres.start(signal);
    try {
      await gateway.start(signal);
    } catch (error) {
      await stop();
      throw error;
    }
  };
  await start(context.signal);
  return {
    url: `mongodb://127.0.0.1:${port}/?directConnection=true`,
    source: "DocumentDB on PostgreSQL 18 of Debian's packages, behind the FerretDB gateway",
    port,
    postgres,
    postgresPort,
    gateway,
    start: () => start(),
    stop,
    kill: async () => {
      await Promise.all([gateway.kill(), postgres.kill()]);
    },
    pause: () => gateway.pause(),
    resume: () => gateway.resume(),
    onUnexpectedExit: (listener) => {
      gateway.onUnexpectedExit(listener);
      postgres.onUnexpectedExit(listener);
    },
  };
}
