import { canInstallPackages, findProgram } from './administrator.ts';
import { type ComposeServer, findCompose, oldestCompose } from './compose-file.ts';
import { findProject, startComposeServer } from './compose-servers.ts';
import type { StackContext } from './context.ts';
import { engineAnswers } from './engine.ts';
import { StepError } from './progress.mjs';
import type { ServerOptions, StackServer } from './server.ts';
import { startTestContainer } from './test-containers.ts';
import { findVersion } from './version.ts';

/** What differs between Redis and MongoDB in where they come from. */
export interface Source {
  readonly title: 'Redis' | 'MongoDB';
  /** In docker-compose.yml. */
  readonly service: ComposeServer;
  readonly setting: 'REDIS_URL' | 'MONGODB_URL';
  readonly program: string;
  readonly oldest: readonly [major: number, minor: number];
  startProgram(context: StackContext, program: string, source: string, options: ServerOptions): Promise<StackServer>;
  /** True when its packages are here already, so that no administrator is needed. */
  hasPackages?(context: StackContext): boolean;
  /** Undefined where the packages hold none that is new enough. */
  startFromPackages(context: StackContext, options: ServerOptions): Promise<StackServer | undefined>;
}

/** By compose for data that stays (`npm start`), by testcontainers for data that is thrown away; undefined where there is no engine for that. */
async function startInContainer(context: StackContext, service: ComposeServer, options: ServerOptions): Promise<StackServer | undefined> {
  const isThere = await engineAnswers(context);
  if (!context.durable) return isThere ? startTestContainer(context, service, options) : undefined;
  const compose = isThere ? await findCompose(context) : undefined;
  if (compose !== undefined) return startComposeServer(context, compose, service, options);
  const why = isThere
    ? `a container engine answers, but there is no Docker Compose ${oldestCompose.join('.')} or newer`
    : 'no container engine answers';
  const project = findProject(context.dataDir);
  if (project !== undefined) {
    throw new StepError(
      'Finding the data of earlier starts',
      `it is in volumes of a container engine (${project}_${service}), and ${why}`,
      'start the engine, or delete .local/compose-project to begin anew without it',
    );
  }
  if (isThere) context.progress.say(`  ${why}: going on without containers`);
  return undefined;
}

/**
 * Starts a server from the first source that this machine has; the one place that says in which order they are tried: what the environment
 * names (`startStack`), a container engine, the program on PATH, Debian's packages.
 *
 * @throws StepError that names what would make one of them work.
 */
export async function startFromFirstSource(context: StackContext, source: Source, options: ServerOptions): Promise<StackServer> {
  const { title, program: name, oldest, setting } = source;
  const contained = await startInContainer(context, source.service, options);
  if (contained !== undefined) return contained;

  const program = findProgram(name);
  if (program !== undefined) {
    const version = await findVersion(program, oldest, context);
    if (version.usable) return source.startProgram(context, program, `${name} ${version.text}, found on PATH`, options);
    context.progress.say(`  ${program} is ${version.text}; ${title} ${oldest.join('.')} or newer is needed`);
  }

  if (canInstallPackages() || source.hasPackages?.(context)) {
    const packaged = await source.startFromPackages(context, options);
    if (packaged !== undefined) return packaged;
  }
  throw new StepError(
    `Finding a ${title}`,
    `no container engine answers, no ${name} ${oldest.join('.')} or newer is on PATH, and packages cannot be installed here (no apt-get, or neither root nor sudo)`,
    `set ${setting} to a running ${title}, or start Docker, or put ${name} on PATH`,
  );
}
