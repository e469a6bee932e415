import type { ReasonCode } from '../../src/shared/domain/reasons.ts';
import { OID } from '../../src/shared/rfc3161/asn1/oids.ts';
import type { Attribute, ResponseParts, SignerParts, TokenParts, TstInfoFields } from '../../src/shared/rfc3161/issue/encode.ts';
import type { SigningIdentity } from '../../src/shared/rfc3161/issue/issue.ts';
import type { Case, FaultyCase, SpecimenOptions, TsaLab } from './tsa-lab.ts';

/** How a token differs from a valid one: each helper names the place, and its argument the changed members. */

type Change<T> = Partial<T> | ((good: T) => Partial<T>);
const changed = <T>(good: T, change: Change<T>): T => ({ ...good, ...(typeof change === 'function' ? change(good) : change) });

export const response = (change: Change<ResponseParts>): SpecimenOptions => ({ seams: { response: (good) => changed(good, change) } });
export const token = (change: Change<TokenParts>): SpecimenOptions => ({ seams: { token: (good) => changed(good, change) } });
/** SignerInfo, after signing. */
export const signerInfo = (change: Change<SignerParts>): SpecimenOptions => ({ seams: { signer: (good) => changed(good, change) } });
/** TSTInfo, before it is signed, and its DER. */
export const fields = (change: Change<TstInfoFields>): SpecimenOptions => ({ seams: { fields: (good) => changed(good, change) } });
export const tstInfo = (eContent: (der: Buffer) => Buffer): SpecimenOptions => ({ seams: { eContent } });
/** All signed attributes before signing, and the replacement of one. */
export const attributes = (change: (good: readonly Attribute[]) => readonly Attribute[] | undefined): SpecimenOptions => ({
  seams: { attributes: change },
});
export const attribute = (type: string, change: (good: Attribute) => readonly Attribute[]): SpecimenOptions =>
  attributes((all) => all.flatMap((one) => (one.type === type ? change(one) : [one])));
export const signingCertificate = (value: Buffer, type: string = OID.signingCertificateV2): SpecimenOptions =>
  attribute(OID.signingCertificateV2, () => [{ type, values: [value] }]);
/** In addition to the existing ones. */
export const moreCertificates = (...more: readonly Buffer[]): SpecimenOptions =>
  token(({ certificates }) => ({ certificates: [...certificates, ...more] }));
export const signedBy = (identity: SigningIdentity): SpecimenOptions => ({ profile: { identity } });
/** Verified like a raw token, because the request would hide the fault behind another one. */
export const unasked = (options: SpecimenOptions): SpecimenOptions => ({ ...options, withoutRequest: true });

type Options = SpecimenOptions | ((lab: TsaLab) => SpecimenOptions);

export const good = (name: string, options: Options): Case => ({
  name,
  make: (lab) => lab.specimen(typeof options === 'function' ? options(lab) : options),
});

export const fault = (code: ReasonCode, name: string, options: Options): FaultyCase => ({ code, ...good(name, options) });

/** A row of a table of faults; `opensslAccepts` if OpenSSL 3.0 judges it otherwise than most faults of this code. */
export type FaultRow = readonly [code: ReasonCode, name: string, options: Options, opensslAccepts?: boolean | undefined];
export type GoodRow = readonly [name: string, options: Options];
