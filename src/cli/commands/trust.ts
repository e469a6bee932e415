import {
  certificateJson,
  forgetAnchor,
  type KeptAnchor,
  keepAnchor,
  keptAnchors,
  readableFingerprint,
  readableName,
  readCertificates,
} from '../anchors.ts';
import type { Command } from '../command.ts';
import { confirm } from '../command.ts';
import { CommandFailure, exitCodes, misuse } from '../failure.ts';
import { onOneLine } from '../terminal.ts';

export const trustAdd: Command = {
  name: 'trust add',
  operands: 'FILE...',
  summary: 'save certificates as trust anchors for "qstamp verify"',
  details:
    'FILE is PEM or DER. Compare the fingerprint with the one that the time-stamping authority publishes in ' +
    'another place than the file.',
  options: { yes: ['', 'do not ask'] },
  run: async (files, values, { terminal, ask, anchorsFolder }) => {
    if (files.length === 0) throw misuse('name at least one file with a certificate');
    for (const file of files) {
      for (const certificate of await readCertificates(file)) {
        const shown = certificateJson(certificate);
        const fingerprint = readableFingerprint(shown.sha256);
        const facts = [`issued by ${shown.issuer}, valid until ${shown.not_after}`, `SHA-256 ${fingerprint}`];
        await confirm(values, ask, `${[shown.subject, ...facts].map(onOneLine).join('\n  ')}\nTrust it for time-stamps?`);
        const saved = await keepAnchor(anchorsFolder, certificate);
        terminal.result({ ...shown, saved }, `${shown.subject}: trusted from now on`, values.yes ? facts : []);
      }
    }
    return exitCodes.ok;
  },
};

export const trustList: Command = {
  name: 'trust list',
  operands: '',
  summary: 'list the saved trust anchors',
  options: {},
  run: async (_operands, { json }, { terminal, anchorsFolder }) => {
    const anchors = await keptAnchors(anchorsFolder);
    for (const { path, certificate } of anchors) {
      const shown = certificateJson(certificate);
      const fingerprint = readableFingerprint(shown.sha256);
      terminal.result({ ...shown, saved: path }, shown.subject, [`valid until ${shown.not_after}`, `SHA-256 ${fingerprint}`]);
    }
    if (anchors.length === 0 && !json) terminal.result({}, 'no trust anchor is saved; "qstamp trust add FILE" saves one');
    return exitCodes.ok;
  },
};

/** The minimum number of characters of a fingerprint that identify a certificate. */
const leastCharacters = 8;

export const trustRemove: Command = {
  name: 'trust remove',
  operands: 'FINGERPRINT|SUBJECT',
  summary: 'remove a saved trust anchor; the first 8 characters of its fingerprint are enough',
  details: 'SUBJECT is the whole name that "qstamp trust list" shows. Other certificates in the same file stay trusted.',
  options: {},
  run: async ([given, ...more], _values, { terminal, anchorsFolder }) => {
    if (given === undefined || more.length > 0) throw misuse('name one trust anchor by its fingerprint or its subject');
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
    return exitCodes.ok;
  },
};
