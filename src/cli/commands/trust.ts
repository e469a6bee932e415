import { certificateJson, forgetAnchor, keepAnchor, keptAnchors, readableFingerprint, readCertificates } from '../anchors.ts';
import type { Command } from '../command.ts';
import { confirm } from '../confirm.ts';
import { CommandFailure, exitCodes, misuse } from '../failure.ts';
import { onOneLine } from '../terminal.ts';

export const trustAdd: Command = {
  name: 'trust add',
  operands: 'FILE...',
  summary: 'save certificates as trust anchors for "qstamp verify"',
  details:
    'FILE is PEM or DER. Compare the fingerprint with the one that the time-stamping authority publishes in\n' +
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
  operands: 'FINGERPRINT',
  summary: 'remove a saved trust anchor; the first 8 characters of its fingerprint are enough',
  options: {},
  run: async ([given, ...more], _values, { terminal, anchorsFolder }) => {
    const wanted = given?.replaceAll(':', '').toLowerCase() ?? '';
    if (more.length > 0 || !/^[0-9a-f]+$/.test(wanted) || wanted.length < leastCharacters) {
      throw misuse(`name one trust anchor by its fingerprint, or at least ${leastCharacters} characters of it`);
    }
    const [anchor, another] = (await keptAnchors(anchorsFolder)).filter(({ certificate }) => certificate.fingerprint.startsWith(wanted));
    if (anchor === undefined) throw new CommandFailure(exitCodes.file, `no saved trust anchor has the fingerprint ${given}`);
    if (another !== undefined) throw misuse(`several trust anchors begin with ${given}`);
    await forgetAnchor(anchor);
    const shown = certificateJson(anchor.certificate);
    terminal.result({ ...shown, removed: true }, `${shown.subject}: no longer trusted`);
    return exitCodes.ok;
  },
};
