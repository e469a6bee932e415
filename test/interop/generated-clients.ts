import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { goProgram } from '../../scripts/stack/cache.ts';
import { checkoutDir, type StackContext } from '../../scripts/stack/context.ts';
import { CommandError, runCommand } from '../../scripts/stack/run.ts';
import { developmentToken } from '../../src/shared/runtime/config.ts';
import { npmPlace, pythonPlace } from './packages.ts';
import { scenario } from './scenario.ts';

const pythonGenerator = 'openapi-python-client==0.29.1';
const typescriptGenerator = ['@hey-api/openapi-ts@0.95.0', 'typescript@5.9.3'];
const goGenerator = 'github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen@v2.8.2';
const goRuntime = 'github.com/oapi-codegen/runtime@v1.8.0';

/** This generator handles the media types of time-stamps and certificates as files only when it is told to. */
const pythonConfig = {
  content_type_overrides: Object.fromEntries(
    [
      'timestamp-reply',
      'timestamp-query',
      'timestamp-token',
      'pem-certificate-chain',
      'x-pem-file',
      'cbor',
      'zip',
      'vnd.etsi.asic-s+zip',
      'vnd.etsi.tsl+xml',
    ].map((type) => [`application/${type}`, 'application/octet-stream']),
  ),
};

interface Stranger {
  readonly name: string;
  /** How many calls its driver makes; else it makes those of the scenario. */
  readonly calls?: number;
  /** Makes a client of the document in `documentFile`; answers the command that drives it, to be given the rest of its arguments. */
  readonly generate: (context: StackContext, documentFile: string) => Promise<readonly [command: string, ...args: string[]]>;
}

/** Foreign generators of clients. */
export const generators: readonly Stranger[] = [
  {
    name: 'openapi-python-client',
    generate: async (context, documentFile) => {
      const place = await pythonPlace(context, 'openapi-python-client', [pythonGenerator]);
      const [client, config] = [join(context.dataDir, 'qstamp_client'), join(context.dataDir, 'openapi-python-client.json')];
      writeFileSync(config, JSON.stringify(pythonConfig));
      const options = ['--path', documentFile, '--output-path', client, '--meta', 'none', '--config', config, '--fail-on-warning'];
      const interpreter = join(place, 'bin/python');
      const env = { ...process.env, PATH: `${join(place, 'bin')}:${process.env.PATH}` };
      await runCommand(interpreter, ['-m', 'openapi_python_client', 'generate', ...options], { ...context, env });
      return [interpreter, 'test/interop/openapi-python-client.py', client];
    },
  },
  {
    name: '@hey-api/openapi-ts',
    generate: async (context, documentFile) => {
      const place = await npmPlace(context, 'hey-api-openapi-ts', typescriptGenerator);
      const [client, config] = [join(context.dataDir, 'typescript-client'), join(context.dataDir, 'openapi-ts.config.mjs')];
      const settings = { input: documentFile, output: { path: client, module: { extension: '.ts' } } };
      writeFileSync(config, `export default ${JSON.stringify(settings)};`);
      await runCommand(process.execPath, [join(place, 'node_modules/@hey-api/openapi-ts/bin/run.js'), '-f', config], {
        ...context,
        cwd: place,
      });
      return [process.execPath, 'test/interop/openapi-ts.ts', client];
    },
  },
  {
    name: 'oapi-codegen',
    calls: 3,
    generate: async (context, documentFile) => {
      const generator = await goProgram(context, goGenerator);
      const client = join(context.dataDir, 'go-client');
      mkdirSync(client);
      writeFileSync(join(client, 'go.mod'), 'module interop\n');
      copyFileSync(join(checkoutDir, 'test/interop/oapi-codegen.go'), join(client, 'main.go'));
      const inFolder = { ...context, cwd: client };
      await runCommand(generator, ['-generate', 'types,client', '-package', 'main', '-o', 'client.go', documentFile], inFolder);
      await runCommand('go', ['get', goRuntime], inFolder);
      await runCommand('go', ['build', '-o', 'client'], inFolder);
      return [join(client, 'client')];
    },
  },
];

/** How many calls of one generated client were right, of how many, and a line for each that was not. */
export async function meetClient(
  { generate, calls = scenario.length }: Stranger,
  context: StackContext,
  url: string,
  documentFile: string,
): Promise<{ right: number; calls: number; faults: string[] }> {
  const scenarioFile = join(context.dataDir, 'scenario.json');
  writeFileSync(scenarioFile, JSON.stringify(scenario));
  const lines: string[] = [];
  try {
    const [command, ...args] = await generate(context, documentFile);
    const onLine = (line: string) => void lines.push(line);
    await runCommand(command, [...args, url, developmentToken.token, scenarioFile], { signal: context.signal, cwd: checkoutDir, onLine });
  } catch (error) {
    if (!(error instanceof CommandError)) throw error;
    if (lines.length === 0) return { right: 0, calls, faults: [error.message] };
  }
  const faults = lines.filter((line) => !line.endsWith(': ok'));
  return { right: lines.length - faults.length, calls, faults };
}
