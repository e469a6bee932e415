import type { ProviderStatus } from '../../shared/contract/status.ts';
import type { DocsPage } from '../docs/docs-model.ts';
import type { StatusFigures } from '../status/status.ts';
import type { VerifyFormPage, VerifyPage } from '../verification/verify-model.ts';
import type { ChallengeOutcome } from '../workflows/verify-user.ts';
import type { WorkflowPage } from '../workflows/workflow-model.ts';

/**
 * What each page is told. Times are RFC 3339 in UTC, hashes lower-case hex, addresses relative; templates write them for people.
 * Nothing here is secret: no whole e-mail address, no token of a caller, no metadata.
 */

export interface VerifyUserPage {
  readonly outcome: ChallengeOutcome;
  readonly workflowId: string;
  readonly workflowUrl: string;
}

/** Any error, for a person (V8): the words are the template's, by what was looked for and the status. */
export interface ErrorPage {
  readonly what: 'workflow' | 'confirmation' | 'stamp' | 'content' | 'form' | 'page';
  readonly status: number;
  /** The public sentence of the error, as JSON has it in `detail`. */
  readonly detail: string;
  readonly requestId: string;
  /** Null where coming back later does not help. */
  readonly retryAfterSeconds: number | null;
}

export interface StartPage {
  readonly version: string;
  /** Where the service is reached, for the example: `PUBLIC_BASE_URL` or the address asked for. */
  readonly baseUrl: string;
  readonly provider: Pick<ProviderStatus, 'name' | 'qualification' | 'last_success_at'>;
}

/** Every page by the name of its template. */
export interface PageModels {
  readonly workflow: WorkflowPage;
  readonly verify: VerifyPage;
  readonly 'verify-form': VerifyFormPage;
  readonly 'verify-user': VerifyUserPage;
  readonly error: ErrorPage;
  readonly status: StatusFigures;
  readonly start: StartPage;
  readonly docs: DocsPage;
}
