import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { exchangeRecords } from '../../test/interop/evidence-records.ts';
import { canInstallPackages, findProgram, installPackages } from '../stack/administrator.ts';
import { cached, recipeKey } from '../stack/cache.ts';
import type { StackContext } from '../stack/context.ts';
import { CommandError, runCommand } from '../stack/run-command.ts';

const bouncyCastle = ['bcpkix', 'bcutil', 'bcprov'].map((part) => `org.bouncycastle:${part}-jdk18on:1.83`);
const dss = [
  'evidence-record-asn1',
  'validation',
  'asic-cades',
  'policy-jaxb',
  'utils-apache-commons',
  'cms-object',
  'crl-parser-stream',
].map((part) => `eu.europa.ec.joinup.sd-dss:dss-${part}:6.3`);

/** The program of one of Debian's packages, which is installed where it is missing. */
async function programOf(context: StackContext, name: string, debianPackage: string): Promise<string> {
  if (findProgram(name) === undefined && canInstallPackages()) await installPackages(context, [debianPackage]);
  const program = findProgram(name);
  if (program === undefined) throw new CommandError(`there is no ${name} on PATH`, '');
  return program;
}

function pomOf(artifacts: readonly string[]): string {
  const dependencies = artifacts.map((artifact) => {
    const [group, name, version] = artifact.split(':');
    return `<dependency><groupId>${group}</groupId><artifactId>${name}</artifactId><version>${version}</version></dependency>`;
  });
  const project = '<modelVersion>4.0.0</modelVersion><groupId>qstamp</groupId><artifactId>interop</artifactId><version>1</version>';
  return `<project>${project}<packaging>pom</packaging><dependencies>${dependencies.join('')}</dependencies></project>\n`;
}

/** A folder with these Java packages and what they need. */
const jarsOf = (context: StackContext, maven: string, name: string, artifacts: readonly string[]): Promise<string> =>
  cached(context, name, recipeKey(...artifacts), async (folder) => {
    writeFileSync(join(folder, 'pom.xml'), pomOf(artifacts));
    const options = ['-q', '-B', 'dependency:copy-dependencies', `-DoutputDirectory=${folder}`];
    await runCommand(maven, options, { ...context, cwd: folder });
  });

/** Evidence records that Bouncy Castle, DSS and this house make or judge; answers how many were judged rightly, and the others. */
export async function exchangeWithStrangers(context: StackContext): Promise<{ right: number; faults: string[] }> {
  const java = await programOf(context, 'java', 'default-jdk-headless');
  const maven = await programOf(context, 'mvn', 'maven');
  const meetings = await exchangeRecords(java, {
    bouncyCastle: await jarsOf(context, maven, 'bouncy-castle', bouncyCastle),
    dss: await jarsOf(context, maven, 'dss', dss),
  });
  const wrong = meetings.filter(({ isRight }) => !isRight);
  return { right: meetings.length - wrong.length, faults: wrong.map(({ what, verdict }) => `${what}: ${verdict}`) };
}
