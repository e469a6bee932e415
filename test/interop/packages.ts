import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { cached, recipeKey } from '../../scripts/stack/cache.ts';
import type { StackContext } from '../../scripts/stack/context.ts';
import { canInstallPackages, installPackages } from '../../scripts/stack/debian.ts';
import { CommandError, findProgram, runCommand } from '../../scripts/stack/run.ts';

/** A folder with packages of PyPI in an environment of its own. @throws CommandError */
export const pythonPlace = (context: StackContext, name: string, packages: readonly string[]): Promise<string> =>
  cached(context, `interop-${name}`, recipeKey(...packages), async (folder) => {
    await runCommand('python3', ['-m', 'venv', folder], context);
    await runCommand(join(folder, 'bin/python'), ['-m', 'pip', 'install', '--quiet', ...packages], context);
  });

/** A folder with packages of the npm registry. @throws CommandError */
export const npmPlace = (context: StackContext, name: string, packages: readonly string[], hasScripts = false): Promise<string> =>
  cached(context, `interop-${name}`, recipeKey(...packages), async (folder) => {
    writeFileSync(join(folder, 'package.json'), '{"private":true}');
    const options = ['--no-audit', '--no-fund', `--ignore-scripts=${!hasScripts}`];
    await runCommand('npm', ['install', ...options, ...packages], { ...context, cwd: folder });
  });

/** Packages of Maven Central that strangers are made of. */
const javaPackages = {
  'bouncy-castle': ['bcpkix', 'bcutil', 'bcprov'].map((part) => `org.bouncycastle:${part}-jdk18on:1.83`),
  dss: ['evidence-record-asn1', 'validation', 'asic-cades', 'policy-jaxb', 'utils-apache-commons', 'cms-object', 'crl-parser-stream'].map(
    (part) => `eu.europa.ec.joinup.sd-dss:dss-${part}:6.3`,
  ),
  'dss-lists': ['tsl-validation', 'validation', 'xades', 'policy-jaxb', 'utils-apache-commons', 'crl-parser-stream', 'cms-object'].map(
    (part) => `eu.europa.ec.joinup.sd-dss:dss-${part}:6.3`,
  ),
} as const;

/** The program of one of Debian's packages, which is installed where it is missing. @throws CommandError */
export async function ensureProgram(context: StackContext, name: string, debianPackage: string): Promise<string> {
  if (findProgram(name) === undefined && canInstallPackages()) await installPackages(context, [debianPackage]);
  const program = findProgram(name);
  if (program === undefined) throw new CommandError(`there is no ${name} on PATH`, '');
  return program;
}

export const ensureJava = (context: StackContext): Promise<string> => ensureProgram(context, 'java', 'default-jdk-headless');

function pomOf(artifacts: readonly string[]): string {
  const dependencies = artifacts.map((artifact) => {
    const [group, name, version] = artifact.split(':');
    return `<dependency><groupId>${group}</groupId><artifactId>${name}</artifactId><version>${version}</version></dependency>`;
  });
  const project = '<modelVersion>4.0.0</modelVersion><groupId>qstamp</groupId><artifactId>interop</artifactId><version>1</version>';
  return `<project>${project}<packaging>pom</packaging><dependencies>${dependencies.join('')}</dependencies></project>\n`;
}

/** A folder with these packages and what they need. */
export async function jarsOf(context: StackContext, name: keyof typeof javaPackages): Promise<string> {
  const artifacts = javaPackages[name];
  const maven = await ensureProgram(context, 'mvn', 'maven');
  return cached(context, name, recipeKey(...artifacts), async (folder) => {
    writeFileSync(join(folder, 'pom.xml'), pomOf(artifacts));
    const options = ['-q', '-B', 'dependency:copy-dependencies', `-DoutputDirectory=${folder}`];
    await runCommand(maven, options, { ...context, cwd: folder });
  });
}
