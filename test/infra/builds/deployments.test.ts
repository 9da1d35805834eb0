/** Builds that deploy: what a build's success leads to, and what it needs until its end. No machine runs here. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { functionLimits } from '#src/platform/limits/functions.ts'
import { change, getOne, sql } from '#src/platform/postgres.ts'
import { finishDeployment } from '#src/resources/infra/functions/build-deployments.ts'
import { dispatchBuilds } from '#src/resources/infra/builds/dispatch.ts'
import { findBuildRow, type Ending } from '#src/resources/infra/builds/rows.ts'
import { openSpec } from '#src/resources/infra/builds/specs.ts'
import type { Berth } from '../../support/berth.ts'
import { bytes, claimOf, clearBuilds, organizationOf, startWithoutBuilder, uuidOf } from '../../support/builds.ts'
import { idsOf, makeKey, makeVmToken } from '../../support/makers.ts'

let berth: Berth
let token: string
beforeAll(async () => {
  ;({ berth, token } = await startWithoutBuilder())
})
afterEach(() => clearBuilds(berth))
afterAll(() => berth.stop())

type Output = {
  type: string
  functionId: string | null
  versionNumber: number | null
  function: { id: string; name: string; createdBy: { id: string } | null; status: string } | null
  version: { number: number; port: number; startCommand: string | null; build: { id: string } } | null
}
type Shown = { status: string; error: string | null; output: Output | null }

/** Orders a build of this function that runs by now. @returns its public id. */
async function order(output: Record<string, unknown>, as = token, organization = token): Promise<string> {
  const { body } = await berth.call<{ id: string }>('POST', '/api/v1/build/jobs', {
    token: as,
    body: { org_id: organizationOf(organization), spec: bytes({ output: { type: 'function', ...output } }) },
  })
  await dispatchBuilds(berth.services)
  return body.id
}

const endingOf = (id: string, name: string): Ending => ({
  status: 'succeeded',
  exitCode: 0,
  output: {
    type: 'function',
    name,
    key: `builds/tests/${id}/${name}.tar.gz`,
    templateId: null,
    sizeBytes: 4,
    sha256: 'ab',
  },
})

/** Ends a build as its worker does. */
async function finish(id: string, name: string) {
  const build = (await findBuildRow(berth.services.db, uuidOf({ id })))! // it was ordered just before
  const { output } = openSpec(berth.services.sealer, build)
  return finishDeployment(berth.services, build, endingOf(id, name), output)
}

async function shown(id: string): Promise<Shown> {
  const { body } = await berth.ask(
    `query ($id: ID!) { build(id: $id) { status error output { type functionId versionNumber
      function { id name status createdBy { id } } version { number port startCommand build { id } } } } }`,
    { token, variables: { id } },
  )
  return (body.data as { build: Shown }).build
}
const versionsMade = async (name: string): Promise<number> =>
  (
    await getOne<{ count: number }>(
      berth.services.db,
      sql`select count(*) from function_versions v join functions f on f.id = v.function_id where f.name = ${name}`,
    )
  ).count

describe('a build with the output function', () => {
  test('makes the function when there is none, and says which version it became', async () => {
    const id = await order({ name: 'first', start_command: 'node main.js', port: 3000 })
    expect((await shown(id)).output).toBeNull()
    await finish(id, 'first')
    const { status, output } = await shown(id)
    expect(status).toBe('SUCCEEDED')
    expect(output).toMatchObject({
      type: 'FUNCTION',
      versionNumber: 1,
      function: { name: 'first', status: 'STOPPED', createdBy: { id: expect.stringMatching(/^usr_/) as string } },
      version: { number: 1, port: 3000, startCommand: 'node main.js', build: { id } },
    })
    expect(output?.functionId).toBe(output?.function?.id)
  })

  test('deploys the next version to the one that is there, which keeps its start command and its port', async () => {
    await finish(await order({ name: 'kept', start_command: 'node main.js', port: 3000 }), 'kept')
    const second = await order({ name: 'kept' })
    await finish(second, 'kept')
    expect((await shown(second)).output).toMatchObject({
      versionNumber: 2,
      version: { port: 3000, startCommand: 'node main.js' },
    })
    const third = await order({ name: 'kept', start_command: '', port: 3001 })
    await finish(third, 'kept')
    expect((await shown(third)).output?.version).toMatchObject({ number: 3, port: 3001, startCommand: null })
  })

  test('needs neither a start command nor a port: the files say the one, and the other is 8080', async () => {
    const id = await order({ name: 'plain' })
    await finish(id, 'plain')
    expect((await shown(id)).output?.version).toMatchObject({ port: 8080, startCommand: null })
  })

  test('deploys once when it ends twice, or when its worker has lost it', async () => {
    const id = await order({ name: 'once' })
    const build = (await findBuildRow(berth.services.db, uuidOf({ id })))! // it was ordered just before
    const { output } = openSpec(berth.services.sealer, build)
    const claim = await claimOf(berth.services.db, build.id)
    const stale = { ...claim, workerNumber: -1 }
    expect(await finishDeployment(berth.services, build, endingOf(id, 'once'), output, stale)).toBeUndefined()
    expect(await versionsMade('once')).toBe(0)
    const both = [1, 2].map(() => finishDeployment(berth.services, build, endingOf(id, 'once'), output, claim))
    expect((await Promise.all(both)).filter((ended) => ended !== undefined)).toHaveLength(1)
    expect(await versionsMade('once')).toBe(1)
  })

  test('makes one function when two of them end at the same time', async () => {
    const ids = [await order({ name: 'pair' }), await order({ name: 'pair' })]
    await Promise.all(ids.map((id) => finish(id, 'pair')))
    const outputs = await Promise.all(ids.map(async (id) => (await shown(id)).output))
    expect(outputs.map((output) => output?.versionNumber)).toEqual(expect.arrayContaining([1, 2]))
    expect(outputs[0]?.functionId).toBe(outputs[1]?.functionId)
  })

  test('may be ordered with a key, and its version says that no person deployed it', async () => {
    const { key } = await makeKey(berth, token)
    const id = await order({ name: 'by-key' }, key)
    await finish(id, 'by-key')
    expect((await shown(id)).output).toMatchObject({ versionNumber: 1, function: { createdBy: null } })
  })
})

describe('a build deploys nothing, and says why,', () => {
  const membership = (as: string, set: string): Promise<number> =>
    change(
      berth.services.db,
      sql`update memberships set ${sql.raw(set)} where user_id = ${idsOf(as).userId} and organization_id = ${idsOf(as).organizationId}`,
    )
  const refusalOf = (id: string, name: string): Promise<unknown> =>
    finish(id, name).then(
      () => 'it was deployed',
      (error: unknown) => error,
    )

  test.each([
    ["role = 'viewer'", /is a viewer by now, and to deploy a function requires member/],
    ['deactivated_at = now()', /has left the organization/],
  ])('when its submitter’s membership is %s at its end', async (set, sentence) => {
    const mia = await berth.token('mia', 'acme', 'member')
    const id = await order({ name: 'not-mine' }, mia)
    await membership(mia, set)
    try {
      expect(await refusalOf(id, 'not-mine')).toMatchObject({ message: expect.stringMatching(sentence) as string })
      expect(await versionsMade('not-mine')).toBe(0)
      expect((await shown(id)).status).toBe('RUNNING')
    } finally {
      await membership(mia, "role = 'member', deactivated_at = null")
    }
    await finish(id, 'not-mine')
    expect(await versionsMade('not-mine')).toBe(1)
    await change(berth.services.db, sql`delete from function_versions where build_id = ${uuidOf({ id })}`)
  })

  test('when its submitter’s role was too low in the token with which it was ordered', async () => {
    const id = await order({ name: 'lesser' })
    await change(berth.services.db, sql`update build_jobs set submitted_role = 'viewer' where id = ${uuidOf({ id })}`)
    expect(await refusalOf(id, 'lesser')).toMatchObject({ code: 'not_permitted_for_role' })
  })

  test.each(['revoked_at = now()', "expires_at = now() - interval '1 second'", "scopes = '{models:read}'"])(
    'when the key with which it was ordered has %s at its end',
    async (set) => {
      const { key, keyId } = await makeKey(berth, token)
      const id = await order({ name: 'keyed' }, key)
      await change(berth.services.db, sql`update api_keys set ${sql.raw(set)} where key_id = ${keyId}`)
      expect(await refusalOf(id, 'keyed')).toMatchObject({
        code: 'forbidden',
        message: expect.stringContaining('revoked, has expired, or may not deploy') as string,
      })
      expect(await versionsMade('keyed')).toBe(0)
    },
  )

  test('when its organization has as many functions as it may have, but not when it deploys to one of them', async () => {
    const carol = await berth.token('carol', 'few')
    const usual = functionLimits.functionsMax
    await finish(await order({ name: 'only' }, carol, carol), 'only')
    Object.assign(functionLimits, { functionsMax: 1 })
    try {
      expect(await refusalOf(await order({ name: 'another' }, carol, carol), 'another')).toMatchObject({
        message: 'Your organization has 1 functions, which is the limit. Delete those that nobody needs.',
      })
      await finish(await order({ name: 'only' }, carol, carol), 'only')
      expect(await versionsMade('only')).toBe(2)
    } finally {
      Object.assign(functionLimits, { functionsMax: usual })
    }
  })
})

describe('an order of such a build is refused', () => {
  const refused = (output: Record<string, unknown>, as = token) =>
    berth.call<{ error: string; message: string }>('POST', '/api/v1/build/jobs', {
      token: as,
      body: { org_id: organizationOf(token), spec: bytes({ output }) },
    })

  test('from the token inside a VM, which may order other builds', async () => {
    const inside = await makeVmToken(berth, token)
    const answer = await refused({ type: 'function', name: 'x' }, inside)
    expect(answer).toMatchObject({ status: 403, body: { error: 'forbidden' } })
    expect(answer.body.message).toContain('token inside a VM gives no access to functions')
    expect((await refused({ type: 'artifact', name: 'x' }, inside)).status).toBe(201)
  })

  test('from a viewer, and from a key without the scope', async () => {
    const viewer = await berth.token('victor', 'acme', 'viewer')
    expect((await refused({ type: 'function', name: 'x' }, viewer)).status).toBe(403)
    const { key } = await makeKey(berth, token, { scopes: ['models:read'] })
    expect((await refused({ type: 'function', name: 'x' }, key)).status).toBe(403)
  })

  test.each([
    ['a start command that is no text', { start_command: 5 }],
    ['one that is too long', { start_command: 'x'.repeat(4097) }],
    ['one with NUL', { start_command: 'a\0b' }],
    ['one that is not Unicode', { start_command: '\ud800' }],
    ['the port 0', { port: 0 }],
    ['the port 65536', { port: 65_536 }],
    ['a port as text', { port: '80' }],
    ['half a port', { port: 80.5 }],
    ['a key that it does not have', { memory_mb: 512 }],
    ['a port of an artifact', { type: 'artifact', port: 80 }],
    ['a start command of a template', { type: 'template', start_command: 'true' }],
    ['a name with a capital', { name: 'No' }],
  ])('with %s', async (_, wrong) => {
    const answer = await refused({ type: 'function', name: 'x', ...wrong })
    expect(answer).toMatchObject({ status: 400, body: { error: 'invalid_spec' } })
    expect(answer.body.message).toMatch(/^(Unknown field )?spec[.:]/)
  })

  test('but not with null, which is as absent, and GraphQL takes the same', async () => {
    expect((await refused({ type: 'function', name: 'x', start_command: null, port: null })).status).toBe(201)
    const { body } = await berth.ask(
      'mutation ($input: CreateBuildInput!) { createBuild(input: $input) { build { id } } }',
      {
        token,
        variables: {
          input: {
            organizationId: organizationOf(token),
            spec: { output: { type: 'FUNCTION', name: 'typed', startCommand: 'node x.js', port: 81 } },
          },
        },
      },
    )
    const { id } = (body.data as { createBuild: { build: { id: string } } }).createBuild.build
    const build = (await findBuildRow(berth.services.db, uuidOf({ id })))! // it was ordered just before
    expect(openSpec(berth.services.sealer, build).output).toMatchObject({ start_command: 'node x.js', port: 81 })
  })
})
