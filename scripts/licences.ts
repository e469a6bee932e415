import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** The parts of a CycloneDX document that are used here. */
export interface Bom {
  readonly metadata: { readonly component: { name: string } };
  readonly components: readonly Component[];
}
export interface Component {
  readonly name: string;
  readonly version: string;
  readonly licenses?: readonly ({ readonly license: { readonly id?: string; readonly name?: string } } | { readonly expression: string })[];
  readonly properties?: readonly { readonly name: string; readonly value: string }[];
}

/** Accepted licences (SPDX identifiers). Read a licence before you add it. */
const known = new Set([
  '0BSD',
  'Apache-2.0',
  'BlueOak-1.0.0',
  'BSD-2-Clause',
  'BSD-3-Clause',
  'CC0-1.0',
  'ISC',
  'MIT',
  'MIT-0',
  'Unlicense',
]);
/** Licences that are accepted for development tools, but not in production. The conditions of MPL-2.0 apply to changed files of a package. */
const knownForDevelopment = new Set(['MPL-2.0']);

const isDevelopment = ({ properties }: Component) =>
  properties?.some(({ name, value }) => name === 'cdx:npm:package:development' && value === 'true') ?? false;

/** The SPDX expression of a package's licence; `none` if it has none. */
function licenceOf({ licenses = [] }: Component): string {
  const named = licenses.map((entry) => ('expression' in entry ? entry.expression : (entry.license.id ?? entry.license.name ?? 'none')));
  return named.join(' AND ') || 'none';
}

/** Whether an SPDX expression without `WITH` is accepted: every side of an AND and at least one side of an OR must be accepted. */
function isKnown(licence: string, accepted: ReadonlySet<string>): boolean {
  const inner = licence.replace(/^\((.*)\)$/, '$1');
  return inner.split(' AND ').every((all) => all.split(' OR ').some((one) => accepted.has(one)));
}

/** The number of packages for each licence, separately for the service and for development; the most frequent licence first. */
export function componentsByLicence(bom: Bom): Map<string, { service: number; development: number }> {
  const counts = new Map<string, { service: number; development: number }>();
  for (const component of bom.components) {
    const licence = licenceOf(component);
    const count = counts.get(licence) ?? { service: 0, development: 0 };
    count[isDevelopment(component) ? 'development' : 'service'] += 1;
    counts.set(licence, count);
  }
  const total = ({ service, development }: { service: number; development: number }) => service + development;
  return new Map([...counts].sort(([, a], [, b]) => total(b) - total(a)));
}

/** The packages with a licence that is not accepted. */
export const unknownLicences = (bom: Bom): { name: string; version: string; licence: string }[] =>
  bom.components
    .map((component) => ({ ...component, licence: licenceOf(component) }))
    .filter((component) => {
      const accepted = isDevelopment(component) ? new Set([...known, ...knownForDevelopment]) : known;
      return !isKnown(component.licence, accepted);
    });

/** The original licence text of each package below `folder` that the service needs. Each text begins with the package's name. */
export function licenceTexts(folder: string): string[] {
  const installed: { packages: Record<string, { version: string; license?: string; dev?: boolean }> } = JSON.parse(
    readFileSync(join(folder, 'node_modules/.package-lock.json'), 'utf8'),
  );
  const present = Object.entries(installed.packages).filter(([path, { dev }]) => dev !== true && existsSync(join(folder, path)));
  return present.map(([path, { version, license }]) => {
    const place = join(folder, path);
    const files = readdirSync(place).filter((file) => /^(licen[cs]e|copying|notice)|\.licen[cs]e\.txt$/i.test(file));
    const texts = files.sort().map((file) => readFileSync(join(place, file), 'utf8'));
    return [
      `${path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length)} ${version}: ${license ?? 'see below'}`,
      ...texts,
    ].join('\n\n');
  });
}
