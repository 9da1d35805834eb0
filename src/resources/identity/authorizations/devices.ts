/** Devices without a browser of their own (RFC 8628): they show a code, which a person enters elsewhere, and ask until that has happened. */
import { randomInt } from 'node:crypto'
import type { ProgramScope } from '#src/platform/access/permissions.ts'
import { randomToken } from '#src/platform/ids.ts'
import { change, findOne, noticesSent, sql, transaction, type Db, type Tx } from '#src/platform/postgres.ts'
import type { Row } from '#src/platform/postgres/rows.ts'
import { sha256 } from '#src/platform/secrets.ts'
import { authorizationLimits } from './limits.ts'
import { addRequest, exchangeRequest, type AskingClient } from './requests.ts'
import type { Exchange } from './tokens.ts'

/** Letters that nobody takes for another, without vowels, so that they make no words: 20 of them. */
const alphabet = 'BCDFGHJKLMNPQRSTVWXZ'
const codeLetters = 8
const { pollSeconds, pollSecondsMax } = authorizationLimits

/** What a device gets: `deviceCode` to ask with, `userCode` to show, as `WDJB-MJHT`. */
export type OpenDevice = { deviceCode: string; userCode: string }
/** What a device is told when it asks. */
export type DeviceExchange = Exchange | { status: 'pending' | 'early' | 'denied' | 'expired' }

/** Begins the request of a device. @throws BerthError rate_limited. */
export async function openDevice(
  db: Db,
  client: AskingClient,
  { scope }: { scope: ProgramScope },
): Promise<OpenDevice> {
  const deviceCode = randomToken()
  const letters = Array.from({ length: codeLetters }, () => alphabet[randomInt(alphabet.length)]).join('')
  await addRequest(db, client, {
    scope,
    secret: deviceCode,
    userCode: letters,
    redirectUri: null,
    state: null,
    codeChallenge: null,
    pollSeconds,
  })
  return { deviceCode, userCode: `${letters.slice(0, codeLetters / 2)}-${letters.slice(codeLetters / 2)}` }
}

/** The code that somebody means: in any case, with or without what stands between; undefined for what is none. */
export function readUserCode(text: string): string | undefined {
  const letters = text.toUpperCase().replaceAll(/[\s-]/g, '')
  return letters.length === codeLetters && Array.from(letters).every((letter) => alphabet.includes(letter))
    ? letters
    : undefined
}

type DeviceRow = Pick<
  Row<'authorization_requests'>,
  'id' | 'clientId' | 'authorizationId' | 'deniedAt' | 'exchangedAt'
> & {
  isEarly: boolean
  isLate: boolean
  userId: string | null
}

/** Answers a device that asks: its tokens, once a person has let it in. */
export async function exchangeDevice(
  db: Db,
  { deviceCode, clientId }: { deviceCode: string; clientId: string },
): Promise<DeviceExchange> {
  const exchange = await transaction(db, async (tx): Promise<DeviceExchange> => {
    const found = await findOne<DeviceRow>(
      tx,
      sql`
      select id, client_id, authorization_id, denied_at, exchanged_at, expires_at <= now() as is_late,
        coalesce(polled_at > now() - poll_seconds * interval '1 second', false) as is_early,
        (select user_id from authorizations where id = authorization_id) as user_id
      from authorization_requests where secret_sha256 = ${sha256(deviceCode)} and user_code is not null for update`,
    )
    if (!found || found.clientId !== clientId) return { status: 'unknown' }
    await noteQuestion(tx, found)
    return answerOf(tx, found)
  })
  await noticesSent(db)
  return exchange
}

async function noteQuestion(tx: Tx, { id, isEarly }: DeviceRow): Promise<void> {
  await change(
    tx,
    sql`
    update authorization_requests
    set polled_at = now(), poll_seconds = least(poll_seconds + ${isEarly ? pollSeconds : 0}::integer, ${pollSecondsMax}::integer)
    where id = ${id}`,
  )
}

async function answerOf(tx: Tx, found: DeviceRow): Promise<DeviceExchange> {
  const { authorizationId, userId } = found
  if (found.deniedAt !== null) return { status: 'denied' }
  if (found.exchangedAt !== null && authorizationId !== null && userId !== null)
    return { status: 'reused', authorizationId, userId }
  if (found.exchangedAt !== null) return { status: 'unknown' }
  if (found.isLate) return { status: 'expired' }
  if (found.isEarly) return { status: 'early' }
  return authorizationId === null ? { status: 'pending' } : exchangeRequest(tx, { ...found, authorizationId })
}
