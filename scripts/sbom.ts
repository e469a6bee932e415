/**
 * `npm run sbom`: writes the installed packages as a CycloneDX document (ECMA-424) to `.local/sbom.cdx.json`, and the licences of the packages that
 * the service needs to `.local/licences.txt`. Prints the licences, and exits with 1 if one is not in the list of accepted licences.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Bom, componentsByLicence, licenceTexts, unknownLicences } from './licences.ts';
import { checkoutDir, localDir } from './stack/context.ts';
import { runScript } from './stack/interrupt.ts';
import { runCommand } from './stack/run.ts';

await runScript(async (signal) => {
  const args = ['sbom', '--sbom-format', 'cyclonedx', '--sbom-type', 'application', '--loglevel', 'error'];
  const bom: Bom = JSON.parse(await runCommand('npm', args, { signal, cwd: checkoutDir }));
  // npm writes the name of the checkout's folder here, which is replaced by the name of the package.
  bom.metadata.component.name = JSON.parse(readFileSync(join(checkoutDir, 'package.json'), 'utf8')).name;
  const file = join(localDir, 'sbom.cdx.json');
  mkdirSync(localDir, { recursive: true });
  writeFileSync(file, `${JSON.stringify(bom, null, 2)}\n`);
  const texts = join(localDir, 'licences.txt');
  writeFileSync(texts, licenceTexts(checkoutDir).join(`\n${'='.repeat(80)}\n\n`));

  const rows = [...componentsByLicence(bom)].map(([licence, { service, development }]) => [licence, service, development]);
  for (const row of [['licence', 'service', 'development'], ...rows]) {
    console.log(row.map((cell, column) => (column === 0 ? String(cell).padEnd(40) : String(cell).padStart(12))).join(''));
  }
  console.log(`\n${bom.components.length} packages, listed in ${file}; the licences of the service's packages: ${texts}`);
  const unknown = unknownLicences(bom);
  for (const { name, version, licence } of unknown)
    console.error(`${name} ${version}: the licence "${licence}" is not in the list of accepted licences`);
  return unknown.length === 0 ? 0 : 1;
});
