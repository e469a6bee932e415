import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { findProgram } from './administrator.ts';
import { checkoutDir, type StackContext } from './context.ts';
import { redisSettings } from './redis-binary.ts';
import { CommandError } from './run-command.ts';
import { findVersion } from './version.ts';

/** A server that docker-compose.yml runs. */
export type ComposeServer = 'redis' | 'mongodb';

interface ComposeService {
  readonly image?: string;
  readonly healthcheck?: { readonly test: readonly string[] };
}

function readService(name: string): ComposeService {
  const compose: { services: Record<string, ComposeService | undefined> } = parse(
    readFileSync(join(checkoutDir, 'docker-compose.yml'), 'utf8'),
    { merge: true },
  );
  return compose.services[name] ?? {};
}

/** The image that docker-compose.yml gives a service. */
export function composeImage(service: string): string {
  const { image } = readService(service);
  if (!image) throw new Error(`docker-compose.yml names no image for ${service}`);
  return image;
}

/** What a service of docker-compose.yml is asked inside its container, to see whether it serves. */
export const composeHealthCheck = (service: ComposeServer): readonly string[] => readService(service).healthcheck?.test.slice(1) ?? [];

/** What the containers of tests run, and those of compose, with passwords beside it. */
export const containerCommands = {
  redis: ['redis-server', ...redisSettings],
  mongodb: ['mongod', '--replSet', 'rs0', '--bind_ip_all'],
} as const satisfies Record<ComposeServer, readonly string[]>;

/** The first version that reads docker-compose.yml: `env_file` with `required`, `depends_on` with `required`. */
export const oldestCompose = [2, 24] as const;

/** How Docker Compose is called here; undefined where there is none, or only one that is too old for our file. */
export async function findCompose(context: Pick<StackContext, 'signal'>): Promise<readonly string[] | undefined> {
  for (const command of [['docker', 'compose'], ['docker-compose']] as const) {
    if (findProgram(command[0]) === undefined) continue;
    try {
      const version = await findVersion(command[0], oldestCompose, context, [...command.slice(1), 'version', '--short']);
      if (version.usable) return command;
    } catch (error) {
      if (!(error instanceof CommandError)) throw error;
    }
  }
  return undefined;
}
