import { expect, test } from 'vitest';
import { z } from 'zod';
import { jobContracts } from '../../../src/shared/queue/jobs.ts';

/** The names of all fields in a schema, at any depth. */
const fieldsOf = (schema: unknown): string[] =>
  typeof schema !== 'object' || schema === null
    ? []
    : Object.entries(schema).flatMap(([name, member]) => [...(name === 'properties' ? Object.keys(member) : []), ...fieldsOf(member)]);

/** Jobs may contain ids and digests, but not the data behind them. */
const isHarmless = (field: string) => /(Id|Sha256)$/.test(field);
const namesSecret = (field: string) => /mail|address|content|secret|token|password|challenge|key/i.test(field) && !isHarmless(field);

const secretsIn = (payload: z.ZodType) => fieldsOf(z.toJSONSchema(payload)).filter(namesSecret);

test.each(Object.entries(jobContracts))(
  'rule 6: no payload of a job %s contains a secret, an e-mail address or content',
  (name, { payload }) => {
    expect(fieldsOf(z.toJSONSchema(payload)).length > 0 || ['sweep', 'recount', 'qstamp-renew', 'trusted-lists'].includes(name)).toBe(true);
    expect(secretsIn(payload)).toEqual([]);
  },
);

test.each(['userEmail', 'content', 'content_b64', 'password', 'workflowToken', 'challenge', 'secret', 'apiKey'])(
  'detects %s in a payload',
  (field) => {
    expect(secretsIn(z.object({ items: z.array(z.object({ tokenId: z.string(), [field]: z.string() })) }))).toEqual([field]);
  },
);
