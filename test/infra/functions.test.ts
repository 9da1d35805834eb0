/** Functions as rows: what callers make, change, deploy, roll back and delete. No node runs them here. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { functionLimits } from '#src/platform/limits/functions.ts'
import { decodeId, newId } from '#src/platform/ids.ts'
import { getOne, sql } from '#src/platform/postgres.ts'
import { startBerth, type Berth } from '../support/berth.ts'
import { organizationOf } from '../support/builds.ts'
import { makeKey, makeSilentNode } from '../support/makers.ts'

let berth: Berth
let token: string
beforeAll(async () => {
  berth = await startBerth({ settings: { BERTH_RATE_LIMIT_FACTOR: '100' } })
  token = await berth.token()
  await makeSilentNode(berth.services.db)
})
afterAll(() => berth.stop())

type Made = {
  id: string
  name: string
  url: string
  status: string
  statusReason: string | null
  currentVersion: { number: number; port: number; startCommand: string | null; binaryUrl: string } | null
  variables: { key: string; value: string }[]
  versions: { nodes: { id: string; number: number }[] }
}
type Failure = { code: string; message: string; field?: string }
const fields = `id name url status statusReason vcpuCount memoryMb idleSeconds startSeconds currentVersion { number port startCommand binaryUrl }
  variables { key value } versions(first: 50) { nodes { id number } }`

/** Runs a mutation that answers a function. @returns it, or the error's code and sentence. */
async function change(name: string, input: Record<string, unknown>, as = token): Promise<Made & Failure> {
  const type = `${name.charAt(0).toUpperCase()}${name.slice(1)}Input`
  const { body } = await berth.ask(
    `mutation ($input: ${type}!) { ${name}(input: $input) { function { ${fields} } } }`,
    {
      token: as,
      variables: { input },
    },
  )
  const answered = body as unknown as {
    data: Record<string, { function: Made } | null>
    errors?: { message: string; extensions: Failure }[]
  }
  const [error] = answered.errors ?? []
  if (error) return { ...error.extensions, message: error.message } as Made & Failure
  return answered.data[name]?.function as Made & Failure
}
const create = (input: Record<string, unknown> = {}, as = token) => change('createFunction', input, as)

/** An upload with these bytes; its binary URL. */
async function upload(bytes = '#!/bin/sh', as = token): Promise<string> {
  const { body } = await berth.call<{ upload_url: string; binary_url: string }>('POST', '/api/v1/compute/uploads', {
    token: as,
    body: { organization_id: organizationOf(as) },
  })
  if (bytes !== '') await fetch(body.upload_url, { method: 'PUT', body: bytes })
  return body.binary_url
}
const remove = (id: string, as = token) =>
  berth.ask(`mutation { deleteFunction(input: {id: "${id}"}) { deletedId } }`, { token: as })

describe('a function', () => {
  test('is made with defaults, a name and an address of its own, and sleeps until somebody asks', async () => {
    const made = await create()
    expect(made).toMatchObject({
      status: 'STOPPED',
      currentVersion: null,
      memoryMb: 2048,
      vcpuCount: 2,
      idleSeconds: 300,
      startSeconds: 30,
    })
    expect(made.name).toBe(`fn-${made.id.slice(-6)}`)
    expect(made.url).toMatch(new RegExp(`^https://${made.name}-${made.id.slice(-8)}\\.berth\\.localhost(:\\d+)?/$`))
    const route = await getOne(
      berth.services.db,
      sql`select kind, host, path, access, function_id = id as own from routes where id = ${decodeId('function', made.id)}`,
    )
    expect(route).toMatchObject({
      kind: 'function',
      host: new URL(made.url).hostname,
      path: '/',
      access: 'public',
      own: true,
    })
  })

  test('is deployed from an upload at its creation, and each deployment makes a version that keeps what it does not name', async () => {
    const binaryUrl = await upload()
    const made = await create({ name: 'deployed', binaryUrl, startCommand: './run', port: 3000 })
    expect(made.currentVersion).toEqual({ number: 1, port: 3000, startCommand: './run', binaryUrl })
    const other = await upload('other')
    const second = await change('deployFunction', { id: made.id, binaryUrl: other })
    expect(second.currentVersion).toEqual({ number: 2, port: 3000, startCommand: './run', binaryUrl: other })
    const third = await change('deployFunction', { id: made.id, binaryUrl: other, startCommand: null, port: 80 })
    expect(third.currentVersion).toMatchObject({ number: 3, port: 80, startCommand: null })
    const [, , first] = third.versions.nodes
    const back = await change('rollBackFunction', { id: made.id, to: first?.id })
    expect(back.currentVersion).toMatchObject({ number: 1, port: 3000, binaryUrl })
    expect(back.statusReason).toBe('Version 1 is the current one.')
    expect((await change('deployFunction', { id: made.id, binaryUrl })).currentVersion?.number).toBe(4)
  })

  test('has in each version the mark that whoever deployed it gave it, and none otherwise', async () => {
    const made = await create({ binaryUrl: await upload(), revision: 'sha256:1' })
    const revisions = async () => {
      const { body } = await berth.ask(`{ function(id: "${made.id}") { versions { nodes { revision } } } }`, { token })
      return (body.data as { function: { versions: { nodes: { revision: string | null }[] } } }).function.versions.nodes
    }
    expect(await revisions()).toEqual([{ revision: 'sha256:1' }])
    await change('deployFunction', { id: made.id, binaryUrl: await upload('two') })
    expect(await revisions()).toEqual([{ revision: null }, { revision: 'sha256:1' }])
    const refused = { id: made.id, binaryUrl: await upload('three'), revision: 'x'.repeat(256) }
    expect((await change('deployFunction', refused)).code).toBe('INVALID_REQUEST')
    expect((await create({ revision: 'abc' })).message).toContain('revision belongs to a version')
  })

  test('has its name, its size and its idle time changed, and its address stays', async () => {
    const made = await create({ name: 'before' })
    const changed = await change('updateFunction', {
      id: made.id,
      name: 'after',
      memoryMb: 512,
      vcpuCount: 1,
      idleSeconds: 10,
      startSeconds: 120,
    })
    expect(changed).toMatchObject({
      name: 'after',
      memoryMb: 512,
      vcpuCount: 1,
      idleSeconds: 10,
      startSeconds: 120,
      url: made.url,
    })
    expect(await create({ name: 'after' })).toMatchObject({ code: 'INVALID_REQUEST', field: 'name' })
    expect(await create({ name: 'before' })).toMatchObject({ name: 'before' })
  })

  test('shows the values of its variables to those who may write them, and to nobody else', async () => {
    const made = await create({ variables: { API_TOKEN: 'top secret', MODE: 'fast' } })
    expect(made.variables).toEqual([
      { key: 'API_TOKEN', value: 'top secret' },
      { key: 'MODE', value: 'fast' },
    ])
    const changed = await change('updateFunction', { id: made.id, variables: { MODE: null, MORE: 'x' } })
    expect(changed.variables.map(({ key }) => key)).toEqual(['API_TOKEN', 'MORE'])
    const viewer = await berth.token('victor', 'acme', 'viewer')
    const { body } = await berth.ask(`{ function(id: "${made.id}") { variables { key value } } }`, { token: viewer })
    expect(body.data).toEqual({
      function: {
        variables: [
          { key: 'API_TOKEN', value: '********' },
          { key: 'MORE', value: '********' },
        ],
      },
    })
    const stored = await getOne<{ text: string }>(
      berth.services.db,
      sql`select functions::text as text from functions where id = ${decodeId('function', made.id)}`,
    )
    expect(stored.text).not.toContain('top secret')
  })

  test('is deleted with its versions, its log and its address, and its name is free', async () => {
    const made = await create({ name: 'gone', binaryUrl: await upload() })
    expect((await remove(made.id)).body.data).toEqual({ deleteFunction: { deletedId: made.id } })
    const { body } = await berth.ask(`{ function(id: "${made.id}") { id } functions(first: 100) { nodes { id } } }`, {
      token,
    })
    expect(JSON.stringify(body.data)).not.toContain(made.id)
    const left = await getOne(
      berth.services.db,
      sql`
      select (select count(*) from routes where function_id = f.id) + (select count(*) from function_versions where function_id = f.id)
        + (select count(*) from function_logs where function_id = f.id) as count, status, sealed_variables is null as bare
      from functions f where id = ${decodeId('function', made.id)}`,
    )
    expect(left).toEqual({ count: 0, status: 'deleted', bare: true })
    expect((await remove(made.id)).body.errors?.[0]?.extensions?.['code']).toBe('NOT_FOUND')
    expect(await create({ name: 'gone' })).toMatchObject({ name: 'gone' })
  })

  test('is linked to a domain, which another organization’s is not, and deleting it unlinks the domain', async () => {
    const [made, other] = [await create(), await create({}, await berth.token('eve', 'evil'))]
    const name = 'shop.example.com'
    type Shown = { function_id: string | null; target_type: string | null; error?: string }
    const domain = (method: string, path: string, body?: unknown) =>
      berth.call<Shown>(method, `/api/v1/domains${path}`, { token, ...(body === undefined ? {} : { body }) })
    expect((await domain('POST', '', { domain: name })).status).toBe(200)
    const link = (functionId: string) => domain('POST', `/${name}/link`, { function_id: functionId })
    expect(await link(other.id)).toMatchObject({ status: 404, body: { error: 'not_found' } })
    expect((await link(made.id)).status).toBe(200)
    const again = await link((await create()).id)
    expect(again).toMatchObject({
      status: 409,
      body: { error: 'domain_already_linked', current_target: `function:${made.id}` },
    })
    expect((await domain('GET', `/${name}`)).body).toMatchObject({ function_id: made.id, target_type: 'serverless' })
    const { body } = await berth.ask(
      `{ domain(domain: "${name}") { function { id domains(first: 1, filter: { statuses: [PENDING] }) { nodes { name } totalCount } } target { ... on DomainFunction { functionId function { name } } } } }`,
      { token },
    )
    expect(body.data).toEqual({
      domain: {
        function: { id: made.id, domains: { nodes: [{ name }], totalCount: 1 } },
        target: { functionId: made.id, function: { name: made.name } },
      },
    })
    await remove(made.id)
    expect((await domain('GET', `/${name}`)).body).toMatchObject({ function_id: null, target_type: null })
  })

  test('keeps its last versions, and always the current one', async () => {
    const usual = functionLimits.versionsKept
    Object.assign(functionLimits, { versionsKept: 2 })
    try {
      const binaryUrl = await upload()
      const made = await create({ binaryUrl })
      for (let count = 0; count < 3; count++) await change('deployFunction', { id: made.id, binaryUrl })
      const { versions } = await change('updateFunction', { id: made.id, idleSeconds: 60 })
      expect(versions.nodes.map(({ number }) => number)).toEqual([4, 3])
    } finally {
      Object.assign(functionLimits, { versionsKept: usual })
    }
  })
})

describe('a function is refused', () => {
  test.each([
    [{ name: '' }, 'name'],
    [{ name: 'A' }, 'name'],
    [{ name: 'a'.repeat(64) }, 'name'],
    [{ name: '1a' }, 'name'],
    [{ memoryMb: 1 }, 'memoryMb'],
    [{ vcpuCount: 99 }, 'vcpuCount'],
    [{ idleSeconds: 0 }, 'idleSeconds'],
    [{ startSeconds: 0 }, 'startSeconds'],
    [{ startSeconds: 301 }, 'startSeconds'],
    [{ binaryUrl: 'https://example.com/x' }, 'binaryUrl'],
    [{ binaryUrl: 'x'.repeat(3000) }, 'binaryUrl'],
    [{ buildId: newId('build') }, 'buildId'],
    [{ buildId: newId('build'), binaryUrl: 'https://example.com/x' }, 'buildId'],
    [{ name: 'xn--80ak6aa92e' }, 'name'],
    [{ port: 3000 }, 'port'],
    [{ startCommand: './run' }, 'startCommand'],
    [{ binaryUrl: '' }, 'binaryUrl'],
  ])('for %j', async (input, field) => {
    expect(await create(input)).toMatchObject({ code: 'INVALID_REQUEST', field })
  })

  test('for a start command or a port that cannot be, before anything is stored', async () => {
    const binaryUrl = await upload()
    for (const [part, field] of [
      [{ port: 0 }, 'port'],
      [{ port: 65_536 }, 'port'],
      [{ startCommand: 'x'.repeat(5000) }, 'startCommand'],
    ] as const)
      expect(await create({ name: 'refused', binaryUrl, ...part })).toMatchObject({ code: 'INVALID_REQUEST', field })
    expect(await create({ name: 'refused' })).toMatchObject({ name: 'refused' })
  })

  test.each([{ PATH: 'x' }, { LD_PRELOAD: 'x' }, { BERTH_X: 'x' }, { PORT: '80' }, { '1': 'x' }])(
    'for the variable %j',
    async (variables) => {
      expect(await create({ variables })).toMatchObject({ code: 'INVALID_ENV_KEY' })
    },
  )

  test('for another organization’s upload, and for one to which nothing was put', async () => {
    const eve = await berth.token('eve', 'evil')
    expect(await create({ binaryUrl: await upload('theirs', eve) })).toMatchObject({ code: 'INVALID_REQUEST' })
    expect(await create({ binaryUrl: await upload('') })).toMatchObject({ code: 'INVALID_REQUEST', field: 'binaryUrl' })
  })

  test('for a version of another function', async () => {
    const [one, other] = [await create({ binaryUrl: await upload() }), await create({ binaryUrl: await upload() })]
    const to = other.versions.nodes[0]?.id
    expect(await change('rollBackFunction', { id: one.id, to })).toMatchObject({ code: 'INVALID_REQUEST', field: 'to' })
  })

  test('beyond as many as an organization may have', async () => {
    const carol = await berth.token('carol', 'few')
    const usual = functionLimits.functionsMax
    Object.assign(functionLimits, { functionsMax: 1 })
    try {
      await create({}, carol)
      expect(await create({}, carol)).toMatchObject({ code: 'RATE_LIMITED' })
    } finally {
      Object.assign(functionLimits, { functionsMax: usual })
    }
  })

  test('to viewers, and to a key without the scope', async () => {
    const viewer = await berth.token('victor', 'acme', 'viewer')
    expect(await create({}, viewer)).toMatchObject({ code: 'NOT_PERMITTED_FOR_ROLE' })
    const { key } = await makeKey(berth, token, { scopes: ['models:read'] })
    expect(await create({}, key)).toMatchObject({ code: 'FORBIDDEN' })
  })
})

test('a function to which nothing is deployed is not started', async () => {
  const made = await create()
  expect(await change('startFunction', { id: made.id })).toMatchObject({ code: 'SERVICE_UNAVAILABLE' })
})

test('its events are followed from any position', async () => {
  const made = await create({ binaryUrl: await upload() })
  await change('updateFunction', { id: made.id, idleSeconds: 60 })
  await remove(made.id)
  const answer = await fetch(`${berth.url}/graphql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'text/event-stream', authorization: `Bearer ${token}` },
    body: JSON.stringify({
      query: `subscription { functionEvents(id: "${made.id}", after: "0") { ... on FunctionEvent { cursor status versionNumber } } }`,
    }),
  })
  const seen = [...(await answer.text()).matchAll(/"cursor":"(\d+)","status":"(\w+)","versionNumber":(\w+)/g)]
  expect(seen.map(([, ...event]) => event)).toEqual([
    ['1', 'STOPPED', 'null'],
    ['2', 'STOPPED', '1'],
    ['3', 'STOPPED', '1'],
    ['4', 'DELETING', '1'],
    ['5', 'DELETED', 'null'],
  ])
})
