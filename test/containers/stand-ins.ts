import { cpSync, mkdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { recipeKey } from '../../scripts/stack/cache.ts';
import { checkoutDir, type StackContext } from '../../scripts/stack/context.ts';
import { findDocumentDbTree, findGateway, findTemplate } from '../../scripts/stack/documentdb.ts';
import { runCommand } from '../../scripts/stack/run.ts';
import { findGatewayWithPasswords } from './documentdb-gateway.ts';

/** A replacement for an image that cannot be pulled. */
export interface StandIn {
  /** What the image is made from, for the table. */
  readonly what: string;
  /** The file tree that the image starts from. */
  readonly from: 'debian' | 'documentdb';
  /** The lines of its Dockerfile after FROM. */
  readonly recipe: readonly string[];
  /** Puts the files for the recipe into the folder. */
  prepare?(context: StackContext, folder: string): Promise<void>;
}

const here = join(import.meta.dirname, 'stand-ins');
const inModules = (name: string) => join(checkoutDir, 'node_modules', name);

/** The folder of the npm that runs us. It is needed for the Node image, because the npm package with Node does not include npm. */
async function findNpm({ signal }: StackContext): Promise<string> {
  const ours = process.env.npm_execpath;
  if (ours?.endsWith('npm-cli.js')) return dirname(dirname(ours));
  return join(await runCommand('npm', ['root', '--global', '--loglevel=error'], { signal }), 'npm');
}

const certificates = '/etc/ssl/certs/ca-certificates.crt';

async function prepareNode(context: StackContext, folder: string): Promise<void> {
  const node = inModules(`node-${process.platform}-${process.arch}`);
  cpSync(join(node, 'bin/node'), join(folder, 'node'));
  cpSync(join(node, 'LICENSE'), join(folder, 'LICENSE'));
  cpSync(await findNpm(context), join(folder, 'npm'), { recursive: true, dereference: true });
  // The certificates of this machine are copied, because builds need them to reach the registry.
  cpSync(certificates, join(folder, 'ca-certificates.crt'));
}

/** Copies packages of node_modules with all their dependencies. */
function copyPackages(names: readonly string[], folder: string, copied = new Set<string>()): void {
  for (const name of names.filter((each) => !copied.has(each))) {
    copied.add(name);
    cpSync(inModules(name), join(folder, name), { recursive: true });
    const { dependencies = {} }: { dependencies?: Record<string, string> } = JSON.parse(
      readFileSync(join(inModules(name), 'package.json'), 'utf8'),
    );
    copyPackages(Object.keys(dependencies), folder, copied);
  }
}

const registry = process.env.npm_config_registry;

/** The replacements, by the image's name in the Dockerfile and docker-compose.yml, without version. */
export const standIns: Readonly<Record<string, StandIn>> = {
  node: {
    what: "Debian and the Node of the npm package, which is Node's own build of that version",
    from: 'debian',
    recipe: [
      'COPY node /usr/local/bin/node',
      'COPY LICENSE /usr/local/LICENSE',
      'COPY npm /usr/local/lib/node_modules/npm',
      `COPY ca-certificates.crt ${certificates}`,
      'RUN ln -s ../lib/node_modules/npm/bin/npm-cli.js /usr/local/bin/npm && useradd --uid 1000 --create-home node',
      `ENV NODE_EXTRA_CA_CERTS=${certificates}${registry ? ` npm_config_registry=${registry}` : ''}`,
      'CMD ["node"]',
    ],
    prepare: prepareNode,
  },
  redis: {
    what: "Debian's own Redis",
    from: 'debian',
    recipe: ['RUN mkdir -p /data && chown 999:999 /data', 'VOLUME /data', 'WORKDIR /data', 'USER 999:999', 'CMD ["redis-server"]'],
  },
  mongo: {
    what: 'DocumentDB on PostgreSQL 18 behind the FerretDB gateway, with passwords',
    from: 'documentdb',
    recipe: [
      'COPY gateway gateway-with-passwords mongod mongosh /usr/local/bin/',
      'COPY --chown=999:999 template /usr/share/documentdb/template',
      'RUN mkdir -p /data/db && chown -R 999:999 /data',
      'VOLUME /data/db',
      'USER 999:999',
      'CMD ["mongod"]',
      ...['mongod', 'mongosh'].map((name) => `LABEL ${name}=${recipeKey(readFileSync(join(here, 'mongo', name), 'utf8'))}`),
    ],
    prepare: async (context, folder) => {
      for (const name of ['mongod', 'mongosh']) cpSync(join(here, 'mongo', name), join(folder, name));
      cpSync(await findGateway(context), join(folder, 'gateway'));
      cpSync(await findGatewayWithPasswords(context), join(folder, 'gateway-with-passwords'));
      const template = join(await findTemplate(context, await findDocumentDbTree(context)), 'pg');
      // The copies belong to us. `COPY --chown` above gives them to the user of the image.
      await runCommand('cp', ['-r', template, join(folder, 'template')], context);
    },
  },
  'axllent/mailpit': {
    what: 'smtp-server of npm, with the two Mailpit addresses that the tests use',
    from: 'debian',
    recipe: [
      'COPY node /usr/local/bin/node',
      'COPY mail /mail',
      'CMD ["node", "/mail/mailpit.mjs"]',
      `LABEL program=${recipeKey(readFileSync(join(here, 'mailpit.mjs'), 'utf8'))}`,
    ],
    prepare: async (_context, folder) => {
      cpSync(join(inModules(`node-${process.platform}-${process.arch}`), 'bin/node'), join(folder, 'node'));
      mkdirSync(join(folder, 'mail'));
      cpSync(join(here, 'mailpit.mjs'), join(folder, 'mail/mailpit.mjs'));
      copyPackages(['smtp-server', 'postal-mime'], join(folder, 'mail/node_modules'));
    },
  },
  'prom/prometheus': {
    what: "Debian's own Prometheus",
    from: 'debian',
    recipe: [
      'RUN mkdir -p /prometheus && chown 65534:65534 /prometheus',
      'VOLUME /prometheus',
      'USER 65534:65534',
      'ENTRYPOINT ["/bin/prometheus"]',
    ],
  },
};
