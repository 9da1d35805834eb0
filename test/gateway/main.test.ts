import { request } from 'node:http'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { issueToken } from '#src/identity/issuer.ts'
import { readConfig } from '#src/platform/config.ts'
import { openServices } from '#src/platform/services.ts'
import { startCommand } from '../support/command.ts'
import { freePort } from '../support/ports.ts'
import { createDatabase, type TestDatabase } from '../support/postgres.ts'

let database: TestDatabase
let dataDir: string
beforeAll(async () => {
  database = await createDatabase()
  dataDir = mkdtempSync(join(tmpdir(), 'berth-web-'))
})
afterAll(async () => {
  await database.drop()
  rmSync(dataDir, { recursive: true, force: true })
})

describe('the web process', () => {
  it('serves, and stops within two seconds after SIGTERM while streams are open and a request is running', async () => {
    const port = await freePort()
    const settings = { PORT: String(port), BERTH_DATA_DIR: dataDir, DATABASE_URL: database.url }
    const web = startCommand(['src/gateway/main.ts'], settings)
    expect(await web.line(/listens/)).toContain(`"port":${port}`)
    const { token } = await withServices(settings)
    const headers = { 'content-type': 'application/json', authorization: `Bearer ${token}` }
    const url = `http://127.0.0.1:${port}/graphql`
    const stream = await fetch(url, {
      method: 'POST',
      headers: { ...headers, accept: 'text/event-stream' },
      body: JSON.stringify({ query: 'subscription { vmEvents(id: "vm_01m7xwdcq3ftsrck8w2tcdz3c7") { __typename } }' }),
    })
    expect(await stream.text()).toContain('NOT_FOUND')

    // Its headers are there and its body comes after the signal: it is in flight, and is answered.
    const body = JSON.stringify({ query: '{ viewer { organization { name } } }' })
    const late = request(url, { method: 'POST', headers: { ...headers, 'content-length': body.length } })
    const answered = new Promise<string>((resolve, reject) => {
      late.once('error', reject).once('response', (answer) => {
        let text = ''
        answer
          .setEncoding('utf8')
          .on('data', (chunk: string) => (text += chunk))
          .on('end', () => resolve(text))
      })
    })
    late.write(body.slice(0, 10))
    await fetch(`http://127.0.0.1:${port}/healthz`) // by now the other request has arrived too
    web.child.kill('SIGTERM')
    await web.line(/the web process stops/)
    late.end(body.slice(10))
    expect(await answered).toBe('{"data":{"viewer":{"organization":{"name":"acme"}}}}')
    expect(await web.ended).toBe(0) // and not 1, as when requests had to be cut
    await expect(fetch(url)).rejects.toThrow()
  })

  it('says what is wrong with its settings, and exits 2', async () => {
    const web = startCommand(['src/gateway/main.ts'], { DATABASE_URL: '', PORT: 'none', BERTH_DATA_DIR: dataDir })
    expect(await web.ended).toBe(2)
    expect(web.lines.join('\n')).toContain('PORT must be a port from 1 to 65535.')
  })
})

/** A token for the process under test, made as the command makes one. */
async function withServices(settings: Record<string, string>): Promise<{ token: string }> {
  const services = await openServices(readConfig(settings), database.url, 'web')
  try {
    return await issueToken(services, {
      user: 'alice',
      organization: 'acme',
      role: 'owner',
      ttlSeconds: 60,
      newNames: { make: true },
    })
  } finally {
    await services.close()
  }
}
