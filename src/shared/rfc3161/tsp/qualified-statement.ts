import { parseDer } from '../asn1/der.ts';
import { oidOf } from '../asn1/der-values.ts';
import { membersOf } from '../asn1/members.ts';
import { OID } from '../asn1/oids.ts';
import { TAG } from '../asn1/tags.ts';
import { Refusal } from '../refusal/refusal.ts';
import type { TstExtension } from './types.ts';

/** Returns true if a token says that it is a qualified time-stamp: the statement esi4-qtstStatement-1 in qcStatements (EN 319 422 §9.1). */
export function hasQualifiedStatement(extensions: readonly TstExtension[]): boolean {
  return extensions.some(({ type, value }) => type === OID.qcStatements && statementsOf(value).includes(OID.qualifiedTimeStamp));
}

/** The statements that can be read. The extension is not critical, so a malformed one does not make the token invalid. */
function statementsOf(value: Buffer): string[] {
  try {
    const { children } = parseDer(value);
    return children.map((statement) => oidOf(membersOf(statement, 'QCStatement').take(TAG.oid, 'statementId'), 'statementId'));
  } catch (error) {
    if (error instanceof Refusal) return [];
    throw error;
  }
}
