import { createHash, X509Certificate } from 'node:crypto';
import { pemOf } from '../../shared/rfc3161/index.ts';
import { ListRefusal, signersIn, stateOf, type TimeStampingService, type TrustedList } from '../../shared/trust/lists/index.ts';
import { type Context, collect, type Program } from '../command.ts';
import { CommandFailure, exitCodes } from '../failure.ts';
import { chooseFrom, readDocuments, readListSigners } from '../list-files.ts';
import { onOneLine, type Terminal } from '../terminal.ts';

export function addListsCommand(program: Program, { terminal }: Context): void {
  program
    .command('lists')
    .description(
      'show what EU trusted lists say about time-stamping services, and check who signed them\n\n' +
        'FILE is a trusted list in XML (ETSI TS 119 612). With --list-signers, each list must be signed with one of these certificates, ' +
        'or with one that a verified list of lists among the files names for its country. Pivots of the list of lists must be ' +
        'among the files, under their own names (eu-lotl-pivot-341.xml). Nothing is fetched.',
    )
    .argument('<FILE...>')
    .option(
      '--list-signers <FILE>',
      'certificates that may sign: those of the Official Journal for the list of lists; may be repeated',
      collect,
    )
    .option('--signers-of <COUNTRY>', 'print, as PEM, the certificates that the list of lists names for this country (EU: for itself)')
    .action((files, options) => showLists(files, options, terminal));
}

async function showLists(
  files: readonly string[],
  { listSigners, signersOf: country }: { readonly listSigners?: readonly string[]; readonly signersOf?: string },
  terminal: Terminal,
): Promise<void> {
  const signers = listSigners && (await readListSigners(listSigners));
  const { read, newest } = await chooseFrom(await readDocuments(files, terminal), signers);
  for (const [file, list] of read) {
    if (list instanceof ListRefusal) {
      terminal.result({ file, reason: list.message }, `${file}: ${list.message}`, [], 'not_valid');
      if (country === undefined) terminal.count('refused', exitCodes.notValid);
    } else if (country === undefined) {
      showList(file, list, signers !== undefined, terminal);
      terminal.count('read');
    }
  }
  if (country === undefined) return;
  const named = signersIn(
    newest.find(({ kind }) => kind === 'list_of_lists'),
    country,
  );
  if (named.length === 0) {
    const what = `no list of lists among the files names signers for "${country}"; codes are capitals, such as SE`;
    throw new CommandFailure(exitCodes.file, what);
  }
  for (const signer of named) terminal.text(pemText(signer));
}

/** Some signers have keys that the verifier of tokens does not know, so Node.js reads the certificate. */
function nameOf(certificate: Uint8Array): { readonly subject: string; readonly fingerprint: string } {
  const { subject, fingerprint256 } = new X509Certificate(certificate);
  return { subject: onOneLine(subject.replaceAll('\n', ', ')), fingerprint: fingerprint256 };
}

/** With the fingerprint above it, which people compare with the Official Journal. Programs skip such lines. */
function pemText(certificate: Uint8Array): string {
  const { subject, fingerprint } = nameOf(certificate);
  return `# ${subject}\n# SHA-256 ${fingerprint}\n${pemOf('CERTIFICATE', Buffer.from(certificate))}`;
}

function showList(file: string, list: TrustedList, isVerified: boolean, terminal: Terminal): void {
  const { territory, sequenceNumber, version, kind, issuedAt, nextUpdate, operatorName, sha256, timeStampingServices } = list;
  const { subject, fingerprint } = nameOf(list.signer);
  const state = stateOf(nextUpdate, Date.now());
  const json = {
    file,
    territory,
    kind,
    sequence_number: sequenceNumber,
    version,
    issued_at: issuedAt,
    next_update: nextUpdate,
    state,
    operator_name: operatorName,
    sha256,
    signer: { subject, sha256: fingerprint.replaceAll(':', '').toLowerCase() },
    signer_checked: isVerified,
    pointers: list.pointers.map(({ location, territory: of, signers }) => ({ location, territory: of, signers: signers.length })),
    time_stamping_services: timeStampingServices.map(serviceJson),
  };
  const name = kind === 'list_of_lists' ? 'list of lists' : `trusted list of ${territory}`;
  const signedBy = isVerified ? 'signed by' : 'the signature holds, but nobody was named who may sign (--list-signers). Signed by';
  const details = [
    `operator ${operatorName}`,
    `issued ${issuedAt}, ${nextUpdate === null ? 'closed: no update will come' : `next update ${nextUpdate}`}${state === 'expired' ? ': EXPIRED' : ''}`,
    ...(Date.parse(issuedAt) > Date.now() ? ['dated in the FUTURE'] : []),
    `${signedBy} ${subject}, SHA-256 ${fingerprint}`,
    ...timeStampingServices.flatMap(serviceText),
  ];
  terminal.result(json, `${file}: ${name} no. ${sequenceNumber} (version ${version})`, details, isVerified ? 'valid' : 'not_proved');
}

const serviceJson = ({ providerName, periods, certificates }: TimeStampingService) => ({
  provider_name: providerName,
  name: periods[0]?.name,
  type: periods[0]?.type,
  certificates: certificates.map((der) => createHash('sha256').update(der).digest('hex')),
  history: periods.map(({ type, name, status, since }) => ({ type, name, status, since })),
});

/** One line for the service, and one for its history, newest first. */
function serviceText({ providerName, periods }: TimeStampingService): string[] {
  const [{ name, type } = { name: '', type: '' }] = periods;
  const history = periods.map(
    ({ status, since, type: then }) => `${status} since ${since.slice(0, 10)}${then === type ? '' : ` as ${then}`}`,
  );
  return [`${providerName}: ${name} (${type})`, `  ${history.join('; before, ')}`];
}
