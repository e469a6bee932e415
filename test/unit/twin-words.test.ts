import { resolve } from 'node:path';
import { describe, expect, test } from 'vitest';
import { findTwins, twinsIn } from '../support/twins.ts';

describe('one word for one thing (docs/architecture.md, Names)', () => {
  test('pages, mails, documents, command and messages hold no twin', async () => {
    expect(await findTwins(resolve(import.meta.dirname, '../..'))).toEqual([]);
  });

  test.each([
    ['docs/x.md', 'Trust a new anchor with `qstamp trust add`.'],
    ['docs/x.md', 'Each stamp has a token id.'],
    ['views/x.eta', '<p>The <em>timestamp</em> of your file</p>'],
    ['views/x.eta', "<% const words = { a: 'The stamp is pending still' }; %>"],
    ['src/cli/x.ts', "const summary = 'list the anchors that are kept';"],
    ['src/cli/x.ts', 'const line = `the checksum of $' + '{name} is another`;'],
    ['src/api/services/x.ts', "new ServiceError('conflict', 'No timestamp provider could make it.');"],
    ['src/shared/contract/x.ts', "z.string().describe('the capability of a content')"],
  ])('%s: finds a planted one: %s', (path, content) => {
    expect(twinsIn(path, content)).toHaveLength(1);
  });

  test.each([
    ['docs/x.md', 'A trust anchor; `token_id` and `pending` are of the interface.'],
    ['docs/x.md', '```sh\ncurl /api/v1/timestamp\n```'],
    ['views/x.eta', '<text text-anchor="end">x</text><% const anchor = (name) => name; %>'],
    ['src/cli/x.ts', "import x from './anchors.ts'; // the anchors that are kept\nconst type = 'application/timestamp-query';"],
    ['views/x.eta', 'the legal effect of a qualified electronic time stamp'],
  ])('%s: takes what is code, a comment or a name of others: %s', (path, content) => {
    expect(twinsIn(path, content)).toEqual([]);
  });
});
