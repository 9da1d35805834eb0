/** A vault's environment variables in a VM that really runs: one as it is, one as a placeholder that only the way out knows. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { decodeId } from '#src/platform/ids.ts'
import { transaction } from '#src/platform/postgres.ts'
import { giveVariables, openEnvironmentVariables } from '#src/resources/agents/credential-use.ts'
import { startBerth, type Berth } from '../support/berth.ts'
import { idsOf } from '../support/makers.ts'

let berth: Berth
let token: string
let vm: string
let vault: string
const host = createServer((request, response) => response.end(request.headers.authorization))

beforeAll(async () => {
  await new Promise<void>((ready) => host.listen(0, '127.0.0.1', ready))
  berth = await startBerth({ worker: true, pool: 1, settings: { BERTH_VM_HOST_PORTS: String((host.address() as AddressInfo).port) } })
  token = await berth.token()
  const made = await berth.call<{ vm_id: string }>('POST', '/api/v1/vms', { token, body: { skip_folder_create: true } })
  expect(made.status, JSON.stringify(made.body)).toBe(201)
  vm = made.body.vm_id
  vault = (await berth.call<{ id: string }>('POST', '/agents/v1/vaults', { token, body: { display_name: 'keys' } })).body.id
  const networking = { type: 'limited', allowed_hosts: ['host.berth.internal'] }
  for (const auth of [{ secret_name: 'PLAIN', secret_value: 'plain-secret' }, { secret_name: 'GUARDED', secret_value: 'guarded-secret', networking }, { secret_name: 'ELSEWHERE', secret_value: 'other-secret', networking: { type: 'limited', allowed_hosts: ['example.com'] } }]) {
    expect((await berth.call('POST', `/agents/v1/vaults/${vault}/credentials`, { token, body: { auth: { type: 'environment_variable', ...auth } } })).status).toBe(201)
  }
  const variables = await openEnvironmentVariables(berth.services, idsOf(token), [decodeId('vault', vault) ?? ''])
  await transaction(berth.services.db, (tx) => giveVariables(berth.services, tx, decodeId('vm', vm) ?? '', variables))
}, 180_000)
afterAll(async () => {
  host.close()
  await berth.stop()
})

const exec = async (command: string): Promise<string> => (await berth.call<{ stdout: string }>('POST', `/api/v1/vms/${vm}/envd/exec`, { token, body: { command } })).body.stdout
const sends = (name: string): Promise<string> => exec(`curl -s -H "Authorization: Bearer $${name}" http://host.berth.internal:${(host.address() as AddressInfo).port}/`)

test('the VM holds the one secret, and of the others placeholders only', async () => {
  expect(await exec('echo $PLAIN')).toBe('plain-secret\n')
  expect(await exec('env')).toMatch(/^GUARDED=berth-secret-vcrd_[0-9a-z]{26}$/m)
  expect(await exec('env; cat /proc/*/environ 2>/dev/null')).not.toMatch(/guarded-secret|other-secret/)
})

test('what it sends to the right host carries the secret, until the vault is archived', async () => {
  expect(await sends('GUARDED')).toBe('Bearer guarded-secret')
  expect(await sends('ELSEWHERE')).toMatch(/^Bearer berth-secret-vcrd_/)
  await berth.call('POST', `/agents/v1/vaults/${vault}/archive`, { token })
  expect(await sends('GUARDED')).toMatch(/^Bearer berth-secret-vcrd_/)
})
