/** The authority that vouches to guests for the hosts of their secrets: made once, kept to its owner, good for one host at a time. */
import { X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import { chmodSync, mkdtempSync, rmSync, statSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect, createServer } from 'node:tls'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { createAuthority, type EgressAuthority } from '#src/drivers/compute/egress/authority.ts'
import { shiftClock } from '#src/platform/clock.ts'

const dayMs = 24 * 60 * 60_000
let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'berth-authority-'))
})
afterEach(() => {
  shiftClock(0)
  rmSync(folder, { recursive: true })
})

/** The certificate that a client sees which trusts the authority; connecting fails when it does not hold for the host. */
async function shown(authority: EgressAuthority, host: string, trusted = authority): Promise<X509Certificate> {
  const server = createServer(
    { SNICallback: (name, done) => void authority.contextFor(name).then((context) => done(null, context), done) },
    (socket) => socket.end(),
  )
  server.on('tlsClientError', () => undefined)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const socket = connect({
    port: (server.address() as AddressInfo).port,
    servername: host,
    ca: [await trusted.certificate()],
  })
  try {
    await once(socket, 'secureConnect')
    return socket.getPeerX509Certificate()! // a server always shows one
  } finally {
    socket.destroy()
    server.close()
  }
}

test('a restart finds the same authority, and two concurrent starts agree on one', async () => {
  const [one, two] = [createAuthority(folder), createAuthority(folder)]
  expect(await one.certificate()).toBe(await two.certificate())
  const again = createAuthority(folder)
  expect(await again.certificate()).toBe(await one.certificate())
  await shown(again, 'open.test', one)
})

test('it signs certificates of hosts and no other authorities; they contain only the name, and last a week', async () => {
  const authority = createAuthority(folder)
  const own = new X509Certificate(await authority.certificate())
  expect(own.ca).toBe(true)
  expect(own.validToDate.getTime() - Date.now()).toBeGreaterThan(10 * 365 * dayMs)
  const long = `${'a'.repeat(63)}.${'b'.repeat(63)}.${'c'.repeat(63)}.test`
  for (const host of ['open.test', 'under_score.test', long]) {
    const leaf = await shown(authority, host)
    expect([leaf.ca, leaf.subjectAltName, leaf.checkIssued(own)]).toEqual([false, `DNS:${host}`, true])
    expect(leaf.validToDate.getTime() - Date.now()).toBeLessThan(8 * dayMs)
  }
})

test('a certificate is reused while it is valid, and renewed before it expires', async () => {
  const authority = createAuthority(folder)
  const first = await authority.contextFor('open.test')
  shiftClock(5 * dayMs)
  expect(await authority.contextFor('open.test')).toBe(first)
  shiftClock(6.5 * dayMs)
  expect(await authority.contextFor('open.test')).not.toBe(first)
})

test('only its owner reads the key, and one that others could read is not used', async () => {
  await createAuthority(folder).certificate()
  const file = join(folder, 'egress-authority.pem')
  expect(statSync(file).mode & 0o777).toBe(0o600)
  chmodSync(file, 0o644)
  await expect(createAuthority(folder).certificate()).rejects.toThrow(`run: chmod 600 ${file}`)
})
