/** Why something that starts by itself did not: the errors of starts, and which refusal is which. */
import { BerthError } from '#src/platform/errors.ts'

/** Why nothing was started. The names are those of Anthropic's deployment runs. */
export type StartErrorType =
  | 'agent_archived_error'
  | 'environment_archived_error'
  | 'environment_not_found_error'
  | 'vault_archived_error'
  | 'vault_not_found_error'
  | 'organization_disabled_error'
  | 'session_rate_limited_error'
  | 'session_creation_rejected_error'
  | 'unknown_error'

/** The error of a start, as callers see it. */
export type StartError = { type: StartErrorType; message: string }

/** Whether the next try cannot succeed either, until somebody changes something: not for limits and credits. */
export function isLastingError(type: StartErrorType): boolean {
  return type !== 'session_rate_limited_error'
}

/** A refusal of one of the parts, with its type. */
export class Refused extends Error {
  readonly type: StartErrorType
  readonly refusal: BerthError

  constructor(type: StartErrorType, refusal: BerthError) {
    super(refusal.message)
    this.type = type
    this.refusal = refusal
  }
}

/** What a code of a refusal means where it came from. */
type ErrorTypes = Readonly<Partial<Record<string, StartErrorType>>>

/** Of an agent. */
export const agentErrors: ErrorTypes = { resource_archived: 'agent_archived_error', not_found: 'unknown_error' }
/** Of an environment. */
export const environmentErrors: ErrorTypes = {
  resource_archived: 'environment_archived_error',
  not_found: 'environment_not_found_error',
}
/** Of a vault. */
export const vaultErrors: ErrorTypes = { vault_archived: 'vault_archived_error', not_found: 'vault_not_found_error' }
/** Of credits. No plan: the operator has taken it away. Credits and budgets come back without a change of what is started. */
export const creditErrors: ErrorTypes = {
  no_active_plan: 'organization_disabled_error',
  insufficient_credits: 'session_rate_limited_error',
  budget_exceeded: 'session_rate_limited_error',
}
const passing: ErrorTypes = {
  rate_limited: 'session_rate_limited_error',
  capacity_unavailable: 'session_rate_limited_error',
}

const unusableVault = new BerthError(
  'vault_archived',
  'A vault of this is archived, so its credentials cannot be used. Name another one, or none.',
)

/** Gives a refusal of `work` its type. @throws Refused; faults of Berth itself as they are. */
export async function refusing<Result>(types: ErrorTypes, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof BerthError)) throw error
    const type = types[error.code] ?? passing[error.code]
    if (type === 'vault_archived_error') throw new Refused(type, unusableVault)
    if (type) throw new Refused(type, error)
    throw error.status < 500 ? rejected(error) : error
  }
}

/** A refusal without a type of its own. */
export function rejected(error: BerthError): Refused {
  return new Refused('session_creation_rejected_error', error)
}
