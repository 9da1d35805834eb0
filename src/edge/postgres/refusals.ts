/** What the proxy says when it refuses: a sentence, and the SQLSTATE that Postgres has for it. */
import { log } from '#src/platform/log.ts'
import { isDatabaseAway } from '#src/platform/postgres.ts'

/** SQLSTATEs that the proxy itself answers, by their names in Postgres' documentation. */
export const sqlStates = {
  feature_not_supported: '0A000',
  protocol_violation: '08P01',
  invalid_parameter_value: '22023',
  invalid_authorization_specification: '28000',
  invalid_password: '28P01',
  too_many_connections: '53300',
  idle_in_transaction_session_timeout: '25P03',
  query_canceled: '57014',
  admin_shutdown: '57P01',
  crash_shutdown: '57P02',
  cannot_connect_now: '57P03',
  internal_error: 'XX000',
} as const

/** A refusal that a client of Postgres is shown. Never put a secret into its sentence. */
export class PostgresRefusal extends Error {
  readonly sqlState: string
  /** What to do about it; null where the sentence says it already. */
  readonly hint: string | null

  constructor(state: keyof typeof sqlStates, sentence: string, hint: string | null = null) {
    super(sentence)
    this.name = 'PostgresRefusal'
    this.sqlState = sqlStates[state]
    this.hint = hint
  }
}

/** A wrong password, a user that is not there, a token that has ended: all of them look like this. */
export function loginRefused(user: string): PostgresRefusal {
  return new PostgresRefusal(
    'invalid_password',
    `password authentication failed for user "${shortened(user)}"`,
    'The password is the token of the database, which the mutation rotateDatabaseToken replaces; of the user authenticated it is a JWT. User and database are those of connectionUri; authenticated, anon and roles of your own need the host name of their database, too, or a role the user of connectionUri behind a dot: <role>.app_….',
  )
}

/** A change has ended the clients of this kind while this one was logging in. */
export function changedMeanwhile(): PostgresRefusal {
  return new PostgresRefusal('admin_shutdown', 'the database has changed meanwhile: connect again')
}

/** What arrived is not the protocol. */
export function violation(sentence: string): PostgresRefusal {
  return new PostgresRefusal('protocol_violation', sentence)
}

const nameShown = 63 // characters; names in Postgres have no more

/** A name that a client chose, as it is shown: short, and on one line. */
export function shortened(name: string): string {
  return name.slice(0, nameShown).replaceAll(/[\u0000-\u001f\u007f]/g, '?')
}

/** What a client is told of any thrown value; one that is no refusal is a fault of ours, and logged. */
export function refusalOf(error: unknown): PostgresRefusal {
  if (error instanceof PostgresRefusal) return error
  if (isDatabaseAway(error)) {
    log.warn({ err: error }, 'a client of a database met an unreachable platform')
    return new PostgresRefusal('cannot_connect_now', 'logins cannot be checked right now: try again in a moment')
  }
  log.error({ err: error }, 'a connection to a database failed')
  return new PostgresRefusal('internal_error', 'something went wrong on our side: connect again')
}
