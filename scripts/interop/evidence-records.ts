import { exchangeRecords } from '../../test/interop/evidence-records.ts';
import { canInstallPackages, findProgram, installPackages } from '../stack/administrator.ts';
import { cached, recipeKey } from '../stack/cache.ts';
import type { StackContext } from '../stack/context.ts';
import { CommandError, runCommand } from '../stack/run-command.ts';

const bouncyCastle = ['bcpkix', 'bcutil', 'bcprov'].map((part) => `org.bouncycastle:${part}-jdk18on:1.83`);

/** The program of one of Debian's packages, which is installed where it is missing. */
async function programOf(context: StackContext, name: string, debianPackage: string): Promise<string> {
  if (findProgram(name) === undefined && canInstallPackages()) await installPackages(context, [debianPackage]);
  const program = findProgram(name);
  if (program === undefined) throw new CommandError(`there is no ${name} on PATH`, '');
  return program;
}

/** Evidence records that Bouncy Castle and this house make for each other; answers how many were judged rightly, and the others. */
export async function exchangeWithBouncyCastle(context: StackContext): Promise<{ right: number; faults: string[] }> {
  const java = await programOf(context, 'java', 'default-jdk-headless');
  const maven = await programOf(context, 'mvn', 'maven');
  const jars = await cached(context, 'bouncy-castle', recipeKey(...bouncyCastle), async (folder) => {
    for (const artifact of bouncyCastle) {
      const options = ['-q', '-B', 'dependency:copy', `-Dartifact=${artifact}`, `-DoutputDirectory=${folder}`];
      await runCommand(maven, options, { ...context, cwd: folder });
    }
  });
  const meetings = await exchangeRecords(java, jars);
  const wrong = meetings.filter(({ isRight }) => !isRight);
  return { right: meetings.length - wrong.length, faults: wrong.map(({ what, verdict }) => `${what}: ${verdict}`) };
}
