/** A token belongs to one organization, so nobody has to name it in GraphQL. REST asks for it where its documents do. */
import { isInputObjectType, isNonNullType, isObjectType } from 'graphql'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { schema } from '#schema/schema.ts'
import type { Caller } from '#src/platform/access.ts'
import { allowInGiven } from '#src/platform/access/organizations.ts'
import { encodeId, newUuid } from '#src/platform/ids.ts'
import { startBerth, type Berth } from '../support/berth.ts'
import { idsOf } from '../support/makers.ts'

let berth: Berth
let token: string
beforeAll(async () => {
  berth = await startBerth()
  token = await berth.token('alice', 'acme', 'owner')
})
afterAll(() => berth?.stop())

test('no argument and no input of the schema asks for the organization', () => {
  const fields = Object.values(schema.getTypeMap()).flatMap((type) => {
    if (isInputObjectType(type)) return Object.values(type.getFields())
    return isObjectType(type) ? Object.values(type.getFields()).flatMap(({ args }) => args) : []
  })
  const named = fields.filter(({ name }) => name === 'organizationId')
  expect(named.length).toBeGreaterThan(10)
  expect(named.filter(({ type }) => isNonNullType(type))).toEqual([])
})

test('what names none is about the active one', async () => {
  const id = encodeId('organization', idsOf(token).organizationId)
  const { body } = await berth.ask(
    `mutation { createUpload(input: {}) { upload { uploadUrl } } setOrganizationBudget(input: { monthlyUsd: "7" }) { credits { monthlyBudgetUsd } } }`,
    { token },
  )
  expect(JSON.stringify(body)).toContain(id)
  expect(body.data).toMatchObject({ setOrganizationBudget: { credits: { monthlyBudgetUsd: '7.000000000' } } })
  const read = await berth.ask(
    '{ groups { nodes { id } } inferenceCredits { monthlyBudgetUsd } inferenceUsage { from } inferenceRequests { nodes { id } } }',
    { token },
  )
  expect(read.body).toMatchObject({
    data: { groups: { nodes: [] }, inferenceCredits: { monthlyBudgetUsd: '7.000000000' } },
  })
  expect(read.body).not.toHaveProperty('errors')
})

test.each([
  ['POST', '/api/v1/databases', 'organization_id'],
  ['POST', '/api/v1/compute/uploads', 'organization_id'],
  ['POST', '/api/v1/build/jobs', 'org_id'],
  ['POST', '/agents/v1/groups', 'org_id'],
])('REST asks for it as before: %s %s', async (method, path, key) => {
  for (const body of [{}, { [key]: null }]) {
    const answer = await berth.call(method, path, { token, body })
    expect(answer.status).toBe(400)
    expect(JSON.stringify(answer.body)).toContain(`${key} is required: it must be text.`)
  }
})

test('a person of several whose token names none is told which there are, one of a single one is not asked', () => {
  const [one, other] = [newUuid(), newUuid()]
  const person = (...ids: string[]): Caller => ({
    kind: 'person',
    userId: newUuid(),
    organizationId: null,
    role: null,
    memberships: new Map(ids.map((id) => [id, 'admin'])),
    vmId: null,
    tokenId: 'x',
    expiresAtSeconds: Infinity,
  })
  expect(allowInGiven(person(one), 'groups:write', null).organizationId).toBe(one)
  expect(allowInGiven(person(one, other), 'groups:write', encodeId('organization', other)).organizationId).toBe(other)
  expect(() => allowInGiven(person(one, other), 'groups:write', undefined)).toThrow(
    `Name one in organizationId: ${encodeId('organization', one)}, ${encodeId('organization', other)}.`,
  )
})
