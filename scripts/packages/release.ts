import { readFileSync } from 'node:fs';
import { join, posix } from 'node:path';
import { checkoutDir } from '../stack/context.ts';

interface Manifest {
  readonly version: string;
  readonly author: string;
  readonly homepage: string;
  /** The address of the repository in a browser. It is set only in package.json of this checkout. */
  readonly repository: string;
}

const { version, author, homepage, repository }: Manifest = JSON.parse(readFileSync(join(checkoutDir, 'package.json'), 'utf8'));

export { homepage, repository, version };

/** A file of this version in the repository. */
export const addressOf = (path: string): string => `${repository}/blob/v${version}/${path}`;

/** The name in the MCP registry, which gives the namespace to the owner of the repository. */
export const mcpName = `io.github.${new URL(repository).pathname.slice(1)}`;

/** The members of a manifest that are the same for every npm package of ours. */
export const manifestOf = (directory: string) => ({
  author,
  homepage,
  repository: { type: 'git', url: `git+${repository}.git`, directory },
  bugs: `${repository}/issues`,
  publishConfig: { access: 'public', provenance: true },
});

/** A document of the checkout with absolute links, because a registry shows it without the files around it. */
export function withAbsoluteLinks(path: string): string {
  const text = readFileSync(join(checkoutDir, path), 'utf8');
  return text.replace(/\]\((?![a-z]+:|#)([^)]+)\)/g, (_, link: string) => `](${addressOf(posix.join(posix.dirname(path), link))})`);
}

/** What the MCP registry shows about `qstamp mcp`, by its schema of 2025-12-11. */
export const serverJson = () => ({
  $schema: 'https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json',
  name: mcpName,
  title: 'qstamp',
  description: 'Trusted RFC 3161 time-stamps for your files. Hashes on your machine and sends hashes only.',
  version,
  websiteUrl: homepage,
  repository: { url: repository, source: 'github' },
  packages: [
    {
      registryType: 'npm',
      identifier: 'qstamp',
      version,
      runtimeHint: 'npx',
      transport: { type: 'stdio' },
      packageArguments: [
        { type: 'positional', value: 'mcp' },
        {
          type: 'named',
          name: '--allow',
          description: 'A folder whose files the assistant may stamp and verify',
          format: 'filepath',
          isRequired: true,
          isRepeated: true,
        },
      ],
      environmentVariables: [
        { name: 'QSTAMP_URL', description: 'The address of the service', isRequired: true, placeholder: 'https://qstamp.example' },
        { name: 'QSTAMP_TOKEN', description: 'A service token: stamps belong to its product', isSecret: true },
      ],
    },
  ],
});
