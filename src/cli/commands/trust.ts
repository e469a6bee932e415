import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { type Certificate, pemOf } from '../../shared/rfc3161/index.ts';
import { type KeptAnchor, keptAnchors, readableFingerprint, readableName, readCertificates } from '../anchors.ts';
import { type Context, confirm, type Program } from '../command.ts';
import { about, CommandFailure, exitCodes, misuse } from '../failure.ts';
import { saveFile } from '../local-files.ts';
import { onOneLine } from '../terminal.ts';

export function addTrustCommands(program: Program, context: Context): void {
  const trust = program.command('trust').description('add, list or remove the trust anchors that "qstamp verify" uses');
  trust
    .command('add')
    .description(
      'save certificates as trust anchors for "qstamp verify"\n\n' +
        'FILE is PEM or DER. Compare the fingerprint with the one that the time-stamping authority publishes in ' +
        'another place than the file.',
    )
    .argument('<FILE...>')
    .option('--yes', 'do not ask')
    .action((files, options) => add(files, options, context));
  trust
    .command('list')
    .description('list the saved trust anchors')
    .action(() => list(context));
  trust
    .command('remove')
    .description(
      'remove a saved trust anchor; the first 8 characters of its fingerprint are enough\n\n' +
        'SUBJECT is the whole name that "qstamp trust list" shows. Other certificates in the same file stay trusted.',
    )
    .argument('<FINGERPRINT|SUBJECT>')
    .action((given) => remove(given, context));
}

async function add(files: readonly string[], options: { readonly yes?: true }, { terminal, ask, anchorsFolder }: Context): Promise<void> {
  for (const file of files) {
    for (const certificate of await readCertificates(file)) {
      const shown = certificateJson(certificate);
      const fingerprint = readableFingerprint(shown.sha256);
      const facts = [`issued by ${shown.issuer}, valid until ${shown.not_after}`, `SHA-256 ${fingerprint}`];
      await confirm(options, ask, `${[shown.subject, ...facts].map(onOneLine).join('\n  ')}\nTrust it for time-stamps?`);
      const saved = await keepAnchor(anchorsFolder, certificate);
      terminal.result({ ...shown, saved }, `${shown.subject}: trusted from now on`, options.yes ? facts : []);
    }
  }
}

async function list({ terminal, anchorsFolder }: Context): Promise<void> {
  const anchors = await keptAnchors(anchorsFolder);
  for (const { path, certificate } of anchors) {
    const shown = certificateJson(certificate);
    const fingerprint = readableFingerprint(shown.sha256);
    terminal.result({ ...shown, saved: path }, shown.subject, [`valid until ${shown.not_after}`, `SHA-256 ${fingerprint}`]);
  }
  if (anchors.length === 0 && !terminal.json) terminal.result({}, 'no trust anchor is saved; "qstamp trust add FILE" saves one');
}

/** The minimum number of characters of a fingerprint that identify a certificate. */
const leastCharacters = 8;

async function remove(given: string, { terminal, anchorsFolder }: Context): Promise<void> {
  const wanted = given.replaceAll(':', '').toLowerCase();
  const isFingerprint = /^[0-9a-f]+$/.test(wanted);
  if (isFingerprint && wanted.length < leastCharacters) throw misuse(`give at least ${leastCharacters} characters of the fingerprint`);
  const isMeant = ({ certificate: { fingerprint, subject } }: KeptAnchor) =>
    isFingerprint ? fingerprint.startsWith(wanted) : onOneLine(readableName(subject)) === onOneLine(given);
  const meant = (await keptAnchors(anchorsFolder)).filter(isMeant);
  const [anchor] = meant;
  if (anchor === undefined) {
    throw new CommandFailure(exitCodes.file, `no saved trust anchor has the ${isFingerprint ? 'fingerprint' : 'subject'} ${given}`);
  }
  const fingerprints = new Set(meant.map(({ certificate }) => certificate.fingerprint));
  if (fingerprints.size > 1) throw misuse(`several trust anchors match ${given}: ${[...fingerprints].join(', ')}`);
  // The same certificate may be in several files.
  for (const each of new Map(meant.map((kept) => [kept.path, kept])).values()) await forgetAnchor(each);
  const shown = certificateJson(anchor.certificate);
  terminal.result({ ...shown, removed: true }, `${shown.subject}: no longer trusted`);
}

const certificateJson = ({ subject, issuer, fingerprint, notBeforeMs, notAfterMs }: Certificate) => ({
  subject: readableName(subject),
  issuer: readableName(issuer),
  sha256: fingerprint,
  not_before: new Date(notBeforeMs).toISOString(),
  not_after: new Date(notAfterMs).toISOString(),
});

async function keepAnchor(folder: string, { fingerprint, der }: Certificate): Promise<string> {
  const path = join(folder, `${fingerprint}.pem`);
  return about(path, async () => {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    await saveFile(path, [Buffer.from(pemOf('CERTIFICATE', der))], { overwrite: true });
    return path;
  });
}

/** Removes a certificate from its file, and the file if it holds no other. */
async function forgetAnchor({ path, certificate }: KeptAnchor): Promise<void> {
  const others = (await readCertificates(path)).filter(({ fingerprint }) => fingerprint !== certificate.fingerprint);
  const pem = others.map(({ der }) => pemOf('CERTIFICATE', der)).join('');
  await about(path, async () => {
    if (others.length === 0) await rm(path);
    else await saveFile(path, [Buffer.from(pem)], { overwrite: true });
  });
}
