/** Workspace folders in a backup: taken while their VM writes to them, and mounted again on another installation. */
import { readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { startCommand } from './support/command.ts'
import { startInstallation, type Installation } from './support/installation.ts'
import { freePort } from './support/ports.ts'
import { until } from './support/until.ts'

const file = join(tmpdir(), `berth-folders-${process.pid}.tar.zst`)
let installation: Installation | undefined
afterAll(async () => {
  await installation?.stop()
  rmSync(file, { force: true })
})

async function call<Body>(
  { url }: Pick<Installation, 'url'>,
  token: string,
  path: string,
  body?: unknown,
): Promise<Body> {
  const answer = await fetch(url + path, {
    method: body === undefined ? 'GET' : 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  const text = await answer.text()
  if (!answer.ok) throw new Error(`${path}: ${answer.status} ${text}`)
  return JSON.parse(text) as Body // the caller says what it asked for
}

const exec = (
  at: Pick<Installation, 'url'>,
  token: string,
  vm: string,
  command: string,
): Promise<{ stdout: string; exit_code: number }> => call(at, token, `/api/v1/vms/${vm}/envd/exec`, { command })

test('a folder that is backed up while its VM writes is whole on another installation, and its VM says why it is gone', async () => {
  const port = String(await freePort()) // the same for both: it is part of a token's issuer
  installation = await startInstallation({ PORT: port })
  const token = await installation.token()
  const { vm_id: vm } = await call<{ vm_id: string }>(installation, token, '/api/v1/vms', { name: 'writer' })
  // Whole lines, each flushed: what is there afterwards must be a beginning of them, with none cut.
  await exec(installation, token, vm, 'seq 100000 > ~/workspace/before && sync')
  await call(installation, token, `/api/v1/vms/${vm}/envd/exec`, {
    command: 'i=0; while :; do i=$((i + 1)); echo "line $i"; done >> ~/workspace/during',
    background: true,
  })
  await until(
    'the VM writes',
    async () => Number((await exec(installation!, token, vm, 'wc -l < ~/workspace/during || echo 0')).stdout) > 20,
    60_000,
  )
  const backup = startCommand(['src/backup.ts', file], { PORT: port, BERTH_DATA_DIR: installation.dataDir })
  expect([await backup.ended, backup.lines.join('\n')]).toEqual([0, expect.stringContaining('MiB')])
  expect((await exec(installation, token, vm, 'echo it goes on')).stdout).toBe('it goes on\n')
  await installation.stop()

  installation = await startInstallation({ PORT: port }, async (dataDir) => {
    const restore = startCommand(['src/restore.ts', file], { PORT: port, BERTH_DATA_DIR: dataDir })
    expect([await restore.ended, restore.lines.join('\n')]).toEqual([0, expect.stringContaining('Restored')])
  })
  const query = `{ vm(id: "${vm}") { status statusReason } folders(first: 5) { nodes { id name } } }`
  const { data } = await call<{
    data: { vm: { status: string; statusReason: string }; folders: { nodes: { id: string; name: string }[] } }
  }>(installation, token, '/graphql', { query })
  expect(data.vm).toEqual({
    status: expect.stringMatching(/^error$/i),
    statusReason: expect.stringContaining('not in the backup'),
  })
  const folder = data.folders.nodes.find(({ name }) => name === 'writer')!
  const removed = await fetch(`${installation.url}/api/v1/vms/${vm}`, {
    method: 'DELETE',
    headers: { authorization: `Bearer ${token}` },
  })
  expect(removed.status).toBe(204)
  await until(
    'the VM is gone and its folder free',
    async () =>
      (await call<{ data: { vm: unknown } }>(installation!, token, '/graphql', { query: `{ vm(id: "${vm}") { id } }` }))
        .data.vm === null,
    60_000,
  )
  const { vm_id: reader } = await call<{ vm_id: string }>(installation, token, '/api/v1/vms', { folder_id: folder.id })
  expect((await exec(installation, token, reader, 'cat ~/workspace/before')).stdout).toBe(
    Array.from({ length: 100000 }, (_, at) => `${at + 1}\n`).join(''),
  )
  const { stdout: during } = await exec(installation, token, reader, 'cat ~/workspace/during')
  const lines = during.split('\n').slice(0, -1)
  expect(lines.length).toBeGreaterThan(20)
  expect(lines).toEqual(lines.map((_, at) => `line ${at + 1}`))
  expect(readFileSync(file).length).toBeGreaterThan(0)
}, 240_000)
