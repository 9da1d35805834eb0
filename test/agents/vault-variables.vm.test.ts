/** A vault's environment variables in a VM that really runs: one as it is, one as a placeholder that only the way out knows. */
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { createServer as createSecureServer } from 'node:https'
import type { AddressInfo, Server } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createAuthority } from '#src/drivers/compute/egress/authority.ts'
import { decodeId } from '#src/platform/ids.ts'
import { transaction } from '#src/platform/postgres.ts'
import { giveVariables, openEnvironmentVariables } from '#src/resources/agents/vaults/credentials/use.ts'
import { startBerth, type Berth } from '../support/berth.ts'
import { idsOf } from '../support/makers.ts'
import { until } from '../support/until.ts'

let berth: Berth
let token: string
let vm: string
let vault: string
/** What the servers were sent: their answers are masked. */
const seen: (string | undefined)[] = []
const echo = (request: IncomingMessage, response: ServerResponse): void => {
  seen.push(request.headers.authorization)
  response.end(request.headers.authorization)
}
const host = createServer(echo)
/** The same over TLS, with a certificate of an authority that this process trusts, and no guest. */
const folder = mkdtempSync(join(tmpdir(), 'berth-authority-'))
const authority = createAuthority(folder)
const trusted = getCACertificates('default')
let secured: Server
const portOf = (server: Server): number => (server.address() as AddressInfo).port

beforeAll(async () => {
  setDefaultCACertificates([...trusted, await authority.certificate()])
  secured = createSecureServer(
    { SNICallback: (name, done) => void authority.contextFor(name).then((context) => done(null, context), done) },
    echo,
  )
  for (const server of [host, secured]) await new Promise<void>((ready) => server.listen(0, '127.0.0.1', ready))
  berth = await startBerth({
    worker: true,
    pool: 1,
    settings: { BERTH_VM_HOST_PORTS: `${portOf(host)},${portOf(secured)}` },
  })
  token = await berth.token()
  const made = await berth.call<{ vm_id: string }>('POST', '/api/v1/vms', { token, body: { skip_folder_create: true } })
  expect(made.status, JSON.stringify(made.body)).toBe(201)
  vm = made.body.vm_id
  vault = (await berth.call<{ id: string }>('POST', '/agents/v1/vaults', { token, body: { display_name: 'keys' } }))
    .body.id
  const networking = { type: 'limited', allowed_hosts: ['host.berth.internal'] }
  for (const auth of [
    { secret_name: 'PLAIN', secret_value: 'plain-secret' },
    { secret_name: 'GUARDED', secret_value: 'guarded-secret', networking },
    {
      secret_name: 'ELSEWHERE',
      secret_value: 'other-secret',
      networking: { type: 'limited', allowed_hosts: ['example.com'] },
    },
  ]) {
    expect(
      (
        await berth.call('POST', `/agents/v1/vaults/${vault}/credentials`, {
          token,
          body: { auth: { type: 'environment_variable', ...auth } },
        })
      ).status,
    ).toBe(201)
  }
  const variables = await openEnvironmentVariables(berth.services, idsOf(token), [decodeId('vault', vault) ?? ''])
  await transaction(berth.services.db, (tx) => giveVariables(berth.services, tx, decodeId('vm', vm) ?? '', variables))
}, 180_000)
afterAll(async () => {
  host.close()
  secured.close()
  await berth.stop()
  setDefaultCACertificates(trusted)
  rmSync(folder, { recursive: true })
})

const exec = async (command: string): Promise<string> =>
  (await berth.call<{ stdout: string }>('POST', `/api/v1/vms/${vm}/envd/exec`, { token, body: { command } })).body
    .stdout
const sends = (name: string): Promise<string> =>
  exec(`curl -s -H "Authorization: Bearer $${name}" http://host.berth.internal:${portOf(host)}/`)
/** The clients that the template has; each says what the server answered, or why it did not trust it. */
const clients: Record<string, (name: string, url: string) => string> = {
  curl: (name, url) => `curl -sS -H "Authorization: Bearer $${name}" ${url}`,
  python: (name, url) =>
    `python3 -c 'import os, urllib.request as r; print(r.urlopen(r.Request("${url}", headers={"Authorization": "Bearer " + os.environ["${name}"]})).read().decode(), end="")'`,
  node: (name, url) =>
    `node -e 'fetch("${url}", { headers: { authorization: "Bearer " + process.env.${name} } }).then((answer) => answer.text()).then((text) => process.stdout.write(text))'`,
  ruby: (name, url) =>
    `ruby -rnet/http -e 'print Net::HTTP.get(URI("${url}"), { "Authorization" => "Bearer " + ENV["${name}"] })'`,
  wget: (name, url) => `wget -q -O - --header "Authorization: Bearer $${name}" ${url}`,
}

test('the VM has the secret without networking, and only placeholders for the others', async () => {
  expect(await exec('echo $PLAIN')).toBe('plain-secret\n')
  expect(await exec('env')).toMatch(/^GUARDED=berth-secret-vcrd_[0-9a-z]{26}$/m)
  expect(await exec('env; cat /proc/*/environ 2>/dev/null')).not.toMatch(/guarded-secret|other-secret/)
})

const sendsSecurely = (client: string): Promise<string> =>
  exec(clients[client]!('GUARDED', `https://host.berth.internal:${portOf(secured)}/`)) // of the table's names

test.each(Object.keys(clients))(
  'over https, %s sends the secret to the right host',
  async (client) => {
    expect(await sendsSecurely(client)).toBe('Bearer **************')
    expect(seen.at(-1)).toBe('Bearer guarded-secret')
  },
  60_000,
)

test('after a stop and a start, the VM trusts the same authority, and has it once', async () => {
  const become = async (action: string, status: string): Promise<void> => {
    await berth.ask(`mutation ($id: ID!) { ${action}(input: { id: $id }) { vm { status } } }`, {
      token,
      variables: { id: vm },
    })
    await until(
      `it is ${status}`,
      async () => (await berth.call('GET', `/api/v1/vms/${vm}`, { token })).body['status'] === status,
      60_000,
    )
  }
  await become('stopVm', 'stopped')
  await become('startVm', 'running')
  expect(await sendsSecurely('curl')).toBe('Bearer **************')
  expect(seen.at(-1)).toBe('Bearer guarded-secret')
  expect(
    await exec(
      'grep -cxF "$(sed -n 2p /usr/local/share/ca-certificates/berth-egress.crt)" /etc/ssl/certs/ca-certificates.crt',
    ),
  ).toBe('1\n')
}, 180_000)

test('over plain http a placeholder is not replaced, even for the right host; TRACE is refused', async () => {
  for (const name of ['GUARDED', 'ELSEWHERE']) {
    expect(await sends(name)).toMatch(/^Bearer berth-secret-vcrd_/)
    expect(seen.at(-1)).toMatch(/^Bearer berth-secret-vcrd_/)
  }
  const asked = seen.length
  expect(
    await exec(
      `curl -s -o /dev/null -w "%{http_code}" -X TRACE -H "Authorization: Bearer $GUARDED" https://host.berth.internal:${portOf(secured)}/`,
    ),
  ).toBe('405')
  expect(seen).toHaveLength(asked)
})

test('requests to the right host carry the secret, until the vault is archived', async () => {
  await sendsSecurely('curl')
  expect(seen.at(-1)).toBe('Bearer guarded-secret')
  await berth.call('POST', `/agents/v1/vaults/${vault}/archive`, { token })
  expect(await sendsSecurely('curl')).toBe('') // the server's own certificate, which no guest knows
  expect(seen.at(-1)).toBe('Bearer guarded-secret')
})
