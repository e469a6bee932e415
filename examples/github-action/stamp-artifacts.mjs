/** Stamps the files that `FILES` names, and writes beside each the `.qstamp.json` that the `qstamp` command verifies. See action.yml. */
import { appendFileSync } from 'node:fs';
import { glob, stat, writeFile } from 'node:fs/promises';
import { basename } from 'node:path';
import { Qstamp, sha256OfFile } from 'qstamp-client';

const { QSTAMP_URL: url = '', FILES = '' } = process.env;
const { GITHUB_REPOSITORY = '', GITHUB_REF = '', GITHUB_SHA = '', GITHUB_OUTPUT, GITHUB_STEP_SUMMARY } = process.env;

/** @param {string | undefined} file @param {string[]} lines */
const tell = (file, lines) => file && appendFileSync(file, `${lines.join('\n')}\n`);

/** @type {{ path: string, bytes: number, hash: string }[]} */
const artifacts = [];
const patterns = FILES.split('\n').flatMap((line) => line.trim() || []);
for await (const path of glob(patterns)) {
  const found = await stat(path);
  if (found.isFile() && !path.endsWith('.qstamp.json')) artifacts.push({ path, bytes: found.size, hash: await sha256OfFile(path) });
}
if (artifacts.length === 0) throw new Error(`no file matches ${patterns.join(' ')}`);

const qstamp = new Qstamp({ url });
const metadata = { repository: GITHUB_REPOSITORY, ref: GITHUB_REF, commit: GITHUB_SHA };
const outcomes = await qstamp.stampMany(
  artifacts.map(({ hash }) => hash),
  { metadata },
);

const stamps = [];
const rows = ['| File | SHA-256 | Stamped at |', '|---|---|---|'];
for (const [index, { path, bytes, hash }] of artifacts.entries()) {
  const { made: stamp, error } = outcomes[index] ?? {};
  if (stamp) {
    const record = { qstamp: 1, kind: 'stamp', file: basename(path), bytes, sha256: hash, service: url, stamp };
    await writeFile(`${path}.qstamp.json`, `${JSON.stringify(record, null, 2)}\n`);
    stamps.push(`${path}.qstamp.json`);
  } else {
    console.log(`::error file=${path}::not stamped: ${error?.message}`);
    process.exitCode = 1;
  }
  rows.push(`| ${path} | \`${hash}\` | ${stamp ? `[${stamp.issued_at}](${qstamp.addressOf(stamp.verify_url)})` : 'not stamped'} |`);
}
tell(GITHUB_STEP_SUMMARY, rows);
tell(GITHUB_OUTPUT, ['stamps<<QSTAMP', ...stamps, 'QSTAMP']);
