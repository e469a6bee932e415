import { appendFileSync, cpSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { cached, recipeKey } from '../stack/cache.ts';
import { checkoutDir, type StackContext } from '../stack/context.ts';
import { runCommand } from '../stack/run.ts';
import { addressOf, homepage, repository, withAbsoluteLinks } from './release.ts';

const packages = ['build==1.6.1', 'hatchling==1.33.0', 'twine==7.0.0'];

/** Makes the wheel and the source archive of the Python client. It needs python3, and PyPI the first time. @throws CommandError */
export async function packPython(destination: string, context: StackContext): Promise<void> {
  const tools = await cached(context, 'python-packages', recipeKey(...packages), async (folder) => {
    await runCommand('python3', ['-m', 'venv', folder], context);
    await runCommand(join(folder, 'bin/python'), ['-m', 'pip', 'install', '--quiet', ...packages], context);
  });
  const copy = join(context.dataDir, 'python');
  cpSync(join(checkoutDir, 'clients/python'), copy, { recursive: true, filter: (path) => !/\/(dist|__pycache__)$/.test(path) });
  writeFileSync(join(copy, 'README.md'), withAbsoluteLinks('clients/python/README.md'));
  appendFileSync(join(copy, 'pyproject.toml'), urlsTable);
  const python = join(tools, 'bin/python');
  await runCommand(python, ['-m', 'build', '--no-isolation', '--outdir', destination, copy], context);
  await runCommand(python, ['-m', 'twine', 'check', '--strict', join(destination, '*')], context);
}

const urls = {
  Homepage: homepage,
  Documentation: addressOf('clients/python/README.md'),
  Repository: repository,
  Changelog: addressOf('CHANGELOG.md'),
  Issues: `${repository}/issues`,
};

const urlsTable = `\n[project.urls]\n${Object.entries(urls)
  .map(([name, url]) => `${name} = "${url}"\n`)
  .join('')}`;
