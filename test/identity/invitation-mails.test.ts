/** Invitations by e-mail: sent by a job through a mail server, tried again, and never in a log. */
import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest'
import { readConfig } from '#src/platform/config.ts'
import { decodeId } from '#src/platform/ids.ts'
import { setLogLevel } from '#src/platform/log.ts'
import { findAll, sql } from '#src/platform/postgres.ts'
import { openServices } from '#src/platform/services.ts'
import { invitationLimits } from '#src/resources/identity/invitations/limits.ts'
import { checkMail } from '../../src/start/mail-checks.ts'
import { handleInvitations, mailOne } from '#workers/identity/invitations.ts'
import { startBerth, type Berth } from '../support/berth.ts'
import { startMailServer, type MailServer } from './mail-server.ts'
import { freePort } from '../support/ports.ts'
import { until } from '../support/until.ts'

const login = { user: 'berth', password: 'a/pass:word@mail' }
let server: MailServer
let berth: Berth
let owner: string
beforeAll(async () => {
  server = await startMailServer(login)
  berth = await startBerth({ settings: { BERTH_SMTP_URL: server.url, BERTH_RATE_LIMIT_FACTOR: '1000' } })
  owner = await berth.token('alice', 'acme', 'owner')
})
afterAll(async () => {
  await berth?.stop()
  await server?.close()
})
beforeEach(() => {
  server.mails.length = 0
  server.tries = 0
  server.answer = null
})

type Made = { url: string; invitation: { id: string; email: string | null; mailStatus: string | null } }
async function invite(given: string, { token = owner, at = berth }: { token?: string; at?: Berth } = {}) {
  const { body } = await at.ask(
    `mutation { createInvitation(input: { role: MEMBER, ${given} }) { url invitation { id email mailStatus } } }`,
    { token },
  )
  const [error] = body.errors ?? []
  return { made: body.data?.['createInvitation'] as Made, code: error?.extensions.code, message: error?.message }
}
const uuidOf = ({ invitation }: Made): string => decodeId('invitation', invitation.id) ?? ''
const send = (made: Made): Promise<void> => mailOne(berth.services, uuidOf(made))
type Stored = { mailStatus: string | null; mailReason: string | null; mailAttempts: number; sealedSecret: unknown }
async function stored(made: Made): Promise<Stored | undefined> {
  const [row] = await findAll<Stored>(
    berth.services.db,
    sql`select mail_status, mail_reason, mail_attempts, sealed_secret from invitations where id = ${uuidOf(made)}`,
  )
  return row
}
/** The seconds until the jobs of an invitation are due, in their order. */
const waits = (made: Made): Promise<{ seconds: number }[]> =>
  findAll(
    berth.services.db,
    sql`
    select round(extract(epoch from start_after - created_on))::int as seconds from pgboss.job
    where data->>'invitationId' = ${uuidOf(made)} order by start_after`,
  )
/** A mail as its reader sees it. */
const readable = (text: string): string =>
  Buffer.from(
    text
      .replaceAll('=\r\n', '')
      .replaceAll(/=([0-9A-F]{2})/g, (_, hex: string) => String.fromCharCode(parseInt(hex, 16))),
    'latin1',
  ).toString()

test('a worker sends the link that was answered, and whoever gets it joins', async () => {
  const worker = await openServices(berth.services.config, berth.services.database.url, 'worker')
  try {
    await handleInvitations(worker)
    const { made } = await invite('email: " ada@example.com ", note: "Ada"')
    expect(made.invitation).toMatchObject({ email: 'ada@example.com', mailStatus: 'PENDING' })
    await until('it is recorded as sent', async () => (await stored(made))?.mailStatus === 'sent')
    expect(await stored(made)).toMatchObject({ mailReason: null, sealedSecret: null })
    expect(server.mails).toHaveLength(1)
    const [mail] = server.mails
    expect(mail?.to).toEqual(['ada@example.com'])
    const text = readable(mail?.text ?? '')
    expect(text).toContain(`\r\n${made.url}\r\n`)
    expect(text).toMatch(/alice invites you to the organization “acme”.*with the role member/s)
    expect(text).toMatch(/^Subject: Join acme on Berth/m)
    expect(text).toContain(`<${made.invitation.id}@`)
    const guest = await berth.token('ada', 'elsewhere', 'owner')
    const { body } = await berth.ask(
      `mutation { acceptInvitation(input: { url: "${made.url}" }) { organization { name } } }`,
      { token: guest },
    )
    expect(body.data?.['acceptInvitation']).toEqual({ organization: { name: 'acme' } })
  } finally {
    await worker.close()
  }
})

test('one without an address is not sent, and keeps no secret', async () => {
  const { made } = await invite('note: "by hand"')
  expect(made.invitation).toMatchObject({ email: null, mailStatus: null })
  await send(made)
  expect([server.tries, await waits(made), (await stored(made))?.sealedSecret]).toEqual([0, [], null])
})

test('one that was sent is not sent again when its job runs twice', async () => {
  const { made } = await invite('email: "twice@example.com"')
  await send(made)
  await send(made)
  expect(server.mails).toHaveLength(1)
})

test('a server that is busy is tried again, later each time, and the reason is told until then', async () => {
  server.answer = { code: 451, text: 'Try later', to: 'mail' }
  const { made } = await invite('email: "later@example.com"')
  await send(made)
  await send(made)
  expect(await stored(made)).toMatchObject({
    mailStatus: 'pending',
    mailReason: expect.stringMatching(/^The mail server 127\.0\.0\.1:\d+ answered: 451 Try later$/),
    mailAttempts: 2,
  })
  expect((await waits(made)).map(({ seconds }) => seconds)).toEqual([0, 30, 60])
  server.answer = null
  await send(made)
  expect(await stored(made)).toMatchObject({ mailStatus: 'sent', mailReason: null, sealedSecret: null })
  expect(server.mails).toHaveLength(1)
})

test('it is given up after some attempts, and its secret is forgotten', async () => {
  server.answer = { code: 421, text: 'Busy', to: 'recipient' }
  const { made } = await invite('email: "never@example.com"')
  for (let attempt = 0; attempt < invitationLimits.mailAttemptsMax + 2; attempt++) await send(made)
  expect(server.tries).toBe(invitationLimits.mailAttemptsMax)
  expect(await stored(made)).toMatchObject({ mailStatus: 'failed', sealedSecret: null })
  expect((await waits(made)).at(-1)?.seconds).toBeLessThanOrEqual(invitationLimits.mailAgainSecondsMax)
})

test('an address that the server does not take is given up at once', async () => {
  server.answer = { code: 550, text: 'No such mailbox', to: 'recipient' }
  const { made } = await invite('email: "nobody@example.com"')
  await send(made)
  expect(await stored(made)).toMatchObject({
    mailStatus: 'failed',
    mailReason: expect.stringContaining('550 No such mailbox'),
    sealedSecret: null,
  })
})

test('one that was revoked or accepted before it was sent is not sent', async () => {
  const [revoked, accepted] = [await invite('email: "a@example.com"'), await invite('email: "b@example.com"')]
  await berth.ask(
    `mutation { revokeInvitation(input: { id: "${revoked.made.invitation.id}" }) { invitation { id } } }`,
    {
      token: owner,
    },
  )
  const guest = await berth.token('bob', 'elsewhere', 'owner')
  await berth.ask(`mutation { acceptInvitation(input: { url: "${accepted.made.url}" }) { organization { id } } }`, {
    token: guest,
  })
  await send(revoked.made)
  await send(accepted.made)
  expect(server.tries).toBe(0)
  expect(await stored(accepted.made)).toMatchObject({ mailStatus: null, sealedSecret: null })
})

test('one whose maker may not invite any more, or whose link cannot be opened, is given up', async () => {
  const admin = await berth.token('adam', 'acme', 'admin')
  const { made } = await invite('email: "c@example.com"', { token: admin })
  await sql`update memberships set role = 'member' where user_id in (select id from users where name = 'adam')`.execute(
    berth.services.db,
  )
  const { made: other } = await invite('email: "d@example.com"')
  await sql`update invitations set sealed_secret = ${Buffer.from('no seal')} where id = ${uuidOf(other)}`.execute(
    berth.services.db,
  )
  for (const [one, reason] of [
    [made, /may not invite any more/],
    [other, /cannot be read/],
  ] as const) {
    await send(one)
    expect(await stored(one)).toMatchObject({
      mailStatus: 'failed',
      mailReason: expect.stringMatching(reason),
      sealedSecret: null,
    })
  }
  expect(server.tries).toBe(0)
})

test.each([
  'a',
  'a@',
  '@b.c',
  'a b@c.d',
  'a@b.c, d@e.f',
  'a@b.c\\r\\nBcc: x@y.z',
  'Ada <a@b.c>',
  `${'a'.repeat(65)}@b.c`,
])('%j is no address', async (email) => {
  expect(await invite(`email: "${email}"`)).toMatchObject({ code: 'INVALID_REQUEST', made: null })
})

test('names of others do not look like more of the mail', async () => {
  const token = await berth.token('mallory', 'acme\r\nBcc: all@example.com', 'owner').catch(() => null)
  const named = token ?? (await berth.token('mallory', 'x'.repeat(200), 'owner'))
  const { made } = await invite('email: "safe@example.com"', { token: named })
  await send(made)
  expect(server.mails[0]?.to).toEqual(['safe@example.com'])
  expect(server.mails[0]?.text).not.toMatch(/^bcc:/im)
})

test('an organization sends so many a minute', async () => {
  const limited = await startBerth({ settings: { BERTH_SMTP_URL: server.url } })
  try {
    const token = await limited.token('lena', 'limited', 'owner')
    const codes: (string | undefined)[] = []
    while (codes.at(-1) === undefined && codes.length < 100)
      codes.push((await invite('email: "l@example.com"', { token, at: limited })).code)
    expect(codes.at(-1)).toBe('RATE_LIMITED')
    expect(codes.length).toBeGreaterThan(invitationLimits.mailsPerMinute / 2)
    expect((await invite('note: "by hand"', { token, at: limited })).code).toBeUndefined()
  } finally {
    await limited.stop()
  }
})

test('without a mail server an address is refused, and links are made all the same', async () => {
  const without = await startBerth()
  try {
    const token = await without.token()
    expect(await invite('email: "a@example.com"', { token, at: without })).toMatchObject({
      code: 'INVALID_REQUEST',
      message: expect.stringContaining('BERTH_SMTP_URL'),
    })
    expect((await invite('note: "x"', { token, at: without })).code).toBeUndefined()
  } finally {
    await without.stop()
  }
})

test('neither the link nor the password is in the log or the jobs, also when the server says it', async () => {
  const lines: string[] = []
  const write = vi.spyOn(process.stdout, 'write').mockImplementation((line) => {
    lines.push(String(line))
    return true
  })
  setLogLevel('trace')
  let made: Made
  try {
    made = (await invite('email: "log@example.com"')).made
    server.answer = { code: 451, text: `Who is ${login.password}`, to: 'mail' }
    await send(made)
  } finally {
    write.mockRestore()
    setLogLevel('warn')
  }
  const secret = made.url.replace(/^.*#/, '')
  const row = await stored(made)
  expect(row?.mailReason).toMatch(/451 Who is \[redacted\]$/)
  const jobs = await findAll(berth.services.db, sql`select data, output from pgboss.job`)
  const everywhere = `${lines.join('')}${JSON.stringify(jobs)}${JSON.stringify(row)}`
  expect(lines.join('')).toContain('could not be sent')
  expect(everywhere).not.toContain(secret)
  expect(everywhere).not.toContain(login.password)
})

test('the doctor says whether the mail server answers and takes the login, and shows no password', async () => {
  expect(await checkMail({ smtpUrl: null })).toMatchObject({ verdict: 'neither' })
  expect(await checkMail({ smtpUrl: server.url })).toMatchObject({
    verdict: 'works',
    what: expect.stringMatching(/the mail server 127\.0\.0\.1:\d+ answers$/),
  })
  const wrong = await checkMail({ smtpUrl: server.url.replace(/:[^:@]+@/, ':wrong-password@') })
  expect(wrong).toMatchObject({ verdict: 'fails', what: expect.stringContaining('535') })
  expect(JSON.stringify(wrong)).not.toContain('wrong-password')
  const away = await checkMail({ smtpUrl: `smtp://127.0.0.1:${await freePort()}` })
  expect(away).toMatchObject({ verdict: 'fails', what: expect.stringContaining('could not be reached') })
})

test.each([
  'mail.example.com',
  'http://mail.example.com',
  'smtp://mail.example.com/path',
  'smtp://mail.example.com?tls=no',
  'smtp://berth:100%@mail.example.com',
  'smtp://berth:%ff@mail.example.com',
])('%s is no mail server', (url) => {
  expect(() => readConfig({ BERTH_SMTP_URL: url })).toThrow(/BERTH_SMTP_URL must be a mail server/)
})
