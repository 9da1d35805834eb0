/** A build that deploys a function, and a database that is linked to it, in real VMs: with node-postgres, as people write it. */
import { execFileSync } from 'node:child_process'
import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import type { Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import pg from 'pg'
import { nodeClient } from '#src/drivers/node.ts'
import { objectStore } from '#src/drivers/objects.ts'
import { projectDoorPlace } from '#src/drivers/project-door.ts'
import { openDatabases } from '#src/edge/databases.ts'
import { createTokenCheck } from '#src/edge/databases/tokens.ts'
import { openFunctions } from '#src/edge/functions.ts'
import { createVmReach } from '#src/edge/http/vms.ts'
import { ownCertificate } from '#src/edge/postgres/logins/certificates.ts'
import { openProxy } from '#src/edge/postgres/proxy.ts'
import { openProjectDoor } from '#src/edge/project-door.ts'
import { decodeId, newUuid } from '#src/platform/ids.ts'
import { functionLimits } from '#src/platform/limits/functions.ts'
import { getOne, sql } from '#src/platform/postgres.ts'
import { wakeDatabase } from '#src/resources/infra/databases/sleep.ts'
import { nodeTokenPurpose } from '#src/resources/infra/vms/access.ts'
import { startBerth, type Berth } from '../support/berth.ts'
import { bytes, organizationOf, type Job } from '../support/builds.ts'
import { idsOf } from '../support/makers.ts'
import { until } from '../support/until.ts'

const slowMs = 180_000
let berth: Berth
let token: string
let edge: Awaited<ReturnType<typeof openEdge>>
let database: { id: string; token: string }
let functionId: string
beforeAll(async () => {
  berth = await startBerth({ worker: true, pool: 1, settings: { BERTH_RATE_LIMIT_FACTOR: '100' } })
  token = await berth.token()
  edge = await openEdge()
}, 600_000)
afterAll(async () => {
  await edge.close()
  await berth.stop()
})

/** What the edge process opens. */
async function openEdge() {
  const { services } = berth
  const secret = services.sealer.derive(nodeTokenPurpose)
  const databases = openDatabases(services, {
    reach: async (id) => {
      const { vmId, nodeAgentUrl } = await wakeDatabase(services, id)
      return nodeClient(nodeAgentUrl, secret).tunnel({ vmId })
    },
    checkToken: createTokenCheck(services),
    edgeId: newUuid(),
  })
  const proxy = await openProxy({
    host: '127.0.0.1',
    port: 0,
    directory: databases,
    certificates: ownCertificate(services.config.dataDir, services.config.domain),
    derive: services.sealer.derive,
  })
  const door = await openProjectDoor({ proxy, socketPath: projectDoorPlace(services.config.runDir) })
  const functions = openFunctions(services, createVmReach(services))
  return {
    port: proxy.port,
    functions,
    async close() {
      functions.close()
      door.close()
      await proxy.close(0)
      databases.close()
    },
  }
}

/** It reads from its database at each request, and prints what nobody may see. */
const program = `
const { createServer } = require('node:http')
const { Pool } = require('pg')
console.log('the password is', process.env.PGPASSWORD)
const pool = new Pool({ connectionString: process.env.DATABASE_URL })
pool.on('error', (error) => console.log(error.message))
createServer((_, answer) =>
  pool
    .query('select item, current_user as who from orders')
    .then(({ rows }) => answer.end(rows[0].item + ' for ' + rows[0].who))
    .catch((error) => answer.end('failed: ' + error.message)),
).listen(process.env.PORT)
`
const packages =
  'pg pg-connection-string pg-pool pg-protocol pg-types pgpass pg-int8 postgres-array postgres-bytea postgres-date postgres-interval split2 xtend'

/** Uploads the program with node-postgres, as its installer leaves it. @returns its binary URL */
async function upload(): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'berth-function-'))
  try {
    writeFileSync(join(folder, 'main.js'), program)
    for (const name of packages.split(' '))
      cpSync(join('node_modules', name), join(folder, 'node_modules', name), { recursive: true })
    const packed = execFileSync('tar', ['-czf', '-', '-C', folder, '.'], { maxBuffer: 64 * 1024 * 1024 })
    const { body } = await berth.call<{ upload_url: string; binary_url: string }>('POST', '/api/v1/compute/uploads', {
      token,
      body: { organization_id: organizationOf(token) },
    })
    await fetch(body.upload_url, { method: 'PUT', body: packed })
    return body.binary_url
  } finally {
    rmSync(folder, { recursive: true })
  }
}
async function build(context: string, output: Record<string, unknown>): Promise<Job> {
  const { body } = await berth.call<Job>('POST', '/api/v1/build/jobs', {
    token,
    body: {
      org_id: organizationOf(token),
      spec: bytes({ context, commands: ['test -f main.js'], output: { type: 'function', ...output } }),
    },
  })
  const read = async () => (await berth.call<Job>('GET', `/api/v1/build/jobs/${body.id}`, { token })).body
  await until('the build is over', async () => (await read()).finished_at !== null, slowMs)
  return read()
}
const isStored = async ({ id }: Job, name: string): Promise<boolean> =>
  (await objectStore(berth.services).find(`builds/${organizationOf(token)}/${id}/${name}.tar.gz`)) !== undefined
async function ask(): Promise<string> {
  const { organizationId } = idsOf(token)
  const stream = await edge.functions.reach({ functionId: decodeId('function', functionId) ?? '', organizationId })
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  const asking = request({ createConnection: () => stream as Socket, headers: { host: 'x', connection: 'close' } })
  asking.once('response', (answer) => {
    answer.setEncoding('utf8')
    let text = ''
    answer.on('data', (part: string) => (text += part))
    answer.once('end', () => resolve(text)).once('error', reject)
  })
  asking.once('error', reject).end()
  return promise
}
const change = async (operation: string, input: Record<string, unknown>, wanted: string): Promise<unknown> => {
  const type = `${operation.charAt(0).toUpperCase()}${operation.slice(1)}Input`
  const { body } = await berth.ask(`mutation ($input: ${type}!) { ${operation}(input: $input) { ${wanted} } }`, {
    token,
    variables: { input },
  })
  expect(body.errors).toBeUndefined()
  return body.data
}

test(
  'a build deploys its output, and the function reads from the database that is linked to it',
  async () => {
    const [context, made] = await Promise.all([
      upload(),
      berth.call<{ id: string; token: string; host: string }>('POST', '/api/v1/databases', {
        token,
        body: { organization_id: organizationOf(token), name: 'shop' },
      }),
    ])
    database = made.body
    const job = await build(context, { name: 'reader', start_command: 'exec node main.js' })
    expect(job).toMatchObject({ status: 'succeeded', exit_code: 0 })
    expect(await isStored(job, 'reader')).toBe(true)
    const { body } = await berth.ask(
      `{ build(id: "${job.id}") { output { functionId versionNumber } lastLines } database(id: "${database.id}") { status } }`,
      { token },
    )
    const seen = body.data as {
      build: { output: { functionId: string; versionNumber: number }; lastLines: string[] }
      database: { status: string }
    }
    expect(seen.build.output.versionNumber).toBe(1)
    expect(seen.build.lastLines.at(-1)).toBe('Deploying it to the function reader')
    ;({ functionId } = seen.build.output)

    const read = async () =>
      (await berth.call<{ status: string }>('GET', `/api/v1/databases/${database.id}`, { token })).body.status
    await until('the database is active', async () => (await read()) === 'active', slowMs)
    const owner = new pg.Client({
      host: '127.0.0.1',
      port: edge.port,
      user: `app_${database.id.slice(-6)}`,
      database: 'app',
      password: database.token,
      ssl: { rejectUnauthorized: false, servername: made.body.host },
    })
    await owner.connect()
    await owner.query("create table orders (item text); insert into orders values ('a hat')")
    await owner.end()
    await change('updateDatabase', { id: database.id, functionId }, 'database { id }')
    expect(await ask()).toBe(`a hat for app_${database.id.slice(-6)}`)
  },
  3 * slowMs,
)

test(
  'it reads on after the password has changed, in another instance, and prints neither password',
  async () => {
    const instance = () =>
      getOne<{ vmId: string }>(
        berth.services.db,
        sql`select vm_id from functions where id = ${decodeId('function', functionId)}`,
      )
    const before = await instance()
    await change('rotateDatabaseToken', { id: database.id }, 'database { id }')
    expect((await instance()).vmId).not.toBe(before.vmId)
    // What comes before the edge has heard of it goes to the instance before, which is locked out.
    const wanted = `a hat for app_${database.id.slice(-6)}`
    await until('another instance reads', async () => (await ask()) === wanted, slowMs)
    const { body } = await berth.ask(`{ function(id: "${functionId}") { log(last: 100) { nodes { output } } } }`, {
      token,
    })
    const { nodes } = (body.data as { function: { log: { nodes: { output: string }[] } } }).function.log
    const log = nodes.map(({ output }) => output).join('')
    expect(log.match(/the password is \*\*\*\n/g)).toHaveLength(2)
  },
  2 * slowMs,
)

test(
  'a build that may not deploy fails with the reason, also in its log, and its file is not kept',
  async () => {
    const usual = functionLimits.functionsMax
    Object.assign(functionLimits, { functionsMax: 1 })
    try {
      const job = await build(await upload(), { name: 'another' })
      const reason = 'Your organization has 1 functions, which is the limit. Delete those that nobody needs.'
      expect(job).toMatchObject({ status: 'failed', error: reason, exit_code: null })
      const { body } = await berth.ask(
        `{ build(id: "${job.id}") { output { url } lastLines } functions { totalCount } }`,
        {
          token,
        },
      )
      expect(await isStored(job, 'another')).toBe(false)
      expect(body.data).toMatchObject({ build: { output: null }, functions: { totalCount: 1 } })
      expect((body.data as { build: { lastLines: string[] } }).build.lastLines.at(-1)).toBe(reason)
    } finally {
      Object.assign(functionLimits, { functionsMax: usual })
    }
  },
  2 * slowMs,
)
