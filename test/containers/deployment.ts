import { cpSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { getContainerRuntimeClient } from 'testcontainers';
import { checkoutDir, type StackContext } from '../../scripts/stack/context.ts';
import { findFreePort } from '../../scripts/stack/ports.ts';
import { runCommand } from '../../scripts/stack/run.ts';

/** The files of the repository that someone who follows the README needs, and nothing else. */
const parts = [
  ...['docker-compose.yml', 'deploy', 'config', '.dockerignore', '.npmrc', 'package.json', 'package-lock.json'],
  ...['LICENSE', 'bin', 'clients', 'scripts', 'src', 'views'],
];

/** A deployment of our compose file, in its own folder with its own settings and files. */
export interface Deployment {
  readonly folder: string;
  readonly url: string;
  readonly mailUrl: string;
  readonly prometheusUrl: string;
  readonly serviceToken: string;
  /** Runs `docker compose` with these arguments in `folder`. `env` is added to the environment. */
  compose(args: readonly string[], env?: NodeJS.ProcessEnv): Promise<string>;
  /** The existing containers of a service, running or not. */
  inspect(service: string): Promise<Container[]>;
  /** Kills the process of each container of a service, like a crash. Only the restart policy starts them again. */
  crash(service: string): Promise<void>;
  /** The same deployment with commands that end when the signal is aborted. */
  within(signal: AbortSignal): Deployment;
  /** Size and settings of an image. */
  imageOf(
    name: string,
  ): Promise<{ readonly Size: number; readonly Config: { readonly Labels: Record<string, string>; readonly User: string } }>;
}

export interface Container {
  readonly Id: string;
  readonly Name: string;
  readonly State: {
    readonly Running: boolean;
    readonly Pid: number;
    readonly ExitCode: number;
    readonly StartedAt: string;
    readonly Health?: { readonly Status: string } | undefined;
  };
  readonly HostConfig: { readonly ReadonlyRootfs?: boolean | undefined; readonly Memory?: number | undefined };
  readonly Config: { readonly User: string };
}

/** Creates the files of a deployment, with everything that the README tells an operator to put into `config` and `.env`. */
export async function createDeployment(context: StackContext, [program = '', ...before]: readonly string[]): Promise<Deployment> {
  const folder = join(context.dataDir, 'checkout');
  mkdirSync(folder);
  for (const part of parts) cpSync(join(checkoutDir, part), join(folder, part), { recursive: true });
  const [port, mailPort, prometheusPort] = [await findFreePort(), await findFreePort(), await findFreePort()];
  const serviceToken = 'a-service-token-of-more-than-32-characters';
  writeFileSync(join(folder, 'config/service-tokens'), `acme:${serviceToken}\n`);
  const settings = {
    ...{ PORT: port, MAIL_PORT: mailPort, PROMETHEUS_PORT: prometheusPort, COMPOSE_PROFILES: 'mail,metrics,tsa' },
    ...{ SERVICE_TOKENS_FILE: '/config/service-tokens', SMTP_URL: 'smtp://mail:1025?plain', MAIL_FROM: 'qstamp@acme.example' },
    ...{ TSP: 'local', TSP_PROVIDERS_FILE: '/var/lib/tsa/providers.json' },
    ...{ RATE_VERIFY_PER_MINUTE: 0, RATE_WORKFLOW_START_PER_HOUR: 0, RATE_RECIPIENT_PER_HOUR: 0, RATE_RECIPIENT_PER_DAY: 0 },
  };
  writeFileSync(
    join(folder, '.env'),
    Object.entries(settings)
      .map(([name, value]) => `${name}=${value}\n`)
      .join(''),
  );

  const project = `qstamp-trial-${process.pid}`;
  const { dockerode } = (await getContainerRuntimeClient()).container;
  const inspect = async (service: string): Promise<Container[]> => {
    const label = [`com.docker.compose.project=${project}`, `com.docker.compose.service=${service}`];
    const found = await dockerode.listContainers({ all: true, filters: { label } });
    return Promise.all(found.map(({ Id }) => dockerode.getContainer(Id).inspect()));
  };
  const within = (signal: AbortSignal): Deployment => ({
    folder,
    url: `http://127.0.0.1:${port}`,
    mailUrl: `http://127.0.0.1:${mailPort}`,
    prometheusUrl: `http://127.0.0.1:${prometheusPort}`,
    serviceToken,
    compose: (args, env = {}) =>
      runCommand(program, [...before, '--project-name', project, ...args], {
        signal,
        cwd: folder,
        env: { ...process.env, ...env },
        keepLines: 30,
      }),
    inspect,
    crash: async (service) => {
      for (const { State } of await inspect(service)) process.kill(State.Pid, 'SIGKILL');
    },
    within,
    imageOf: (name) => dockerode.getImage(name).inspect(),
  });
  return within(context.signal);
}

/** One test of a deployment from outside. `run` returns the text for the table. @throws Error if it fails */
export interface Trial {
  readonly title: string;
  /** After this time a trial has failed. */
  readonly limitSeconds: number;
  run(deployment: Deployment): Promise<string>;
}
