/**
 * deploy/Dockerfile runs this during the build. It writes the contents of the image to `sbom.cdx.json` (CycloneDX, ECMA-424) and `licences.txt` in
 * the working directory. The arguments are the system packages whose libraries Node.js loads. The output has the same bytes each time, if the
 * packages are the same.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { type Bom, licenceTexts, unknownLicences } from './licences.ts';

const npm = ['sbom', '--sbom-format=cyclonedx', '--sbom-type=application', '--loglevel=error'];
const { serialNumber: _, ...bom }: Bom & { serialNumber?: string } = JSON.parse(execFileSync('npm', npm, { encoding: 'utf8' }));
const { name, version }: { name: string; version: string } = JSON.parse(readFileSync('package.json', 'utf8'));
const { timestamp: __, ...metadata }: Bom['metadata'] & { timestamp?: string } = bom.metadata;
metadata.component.name = name;

const node = { type: 'platform', name: 'node', version: process.version.slice(1), licenses: [{ license: { id: 'MIT' } }] };
const system = process.argv.slice(2).map((library) => {
  const [, installed = ''] = /^Version: (.+)$/m.exec(execFileSync('dpkg-query', ['--status', library], { encoding: 'utf8' })) ?? [];
  return { type: 'library', name: library, version: installed, purl: `pkg:deb/debian/${library}@${encodeURIComponent(installed)}` };
});
writeFileSync('sbom.cdx.json', `${JSON.stringify({ ...bom, metadata, components: [...bom.components, node, ...system] }, null, 2)}\n`);

const documents = ['/usr/local/LICENSE', ...system.map((library) => `/usr/share/doc/${library.name}/copyright`)];
const ofSystem = documents.filter((file) => existsSync(file)).map((file) => `${file}\n\n${readFileSync(file, 'utf8')}`);
writeFileSync(
  'licences.txt',
  [`${name} ${version}\n\n${readFileSync('LICENSE', 'utf8')}`, ...licenceTexts('.'), ...ofSystem].join(`\n${'='.repeat(80)}\n\n`),
);

const unknown = unknownLicences(bom);
for (const component of unknown)
  console.error(`${component.name} ${component.version}: the licence "${component.licence}" is not in the list of accepted licences`);
process.exitCode = unknown.length === 0 ? 0 : 1;
