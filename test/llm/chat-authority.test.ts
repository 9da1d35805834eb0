/** The chat routes while Postgres, and with it everything that says who may chat, is away. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startTestPostgres, type TestPostgres } from '../support/postgres.ts'
import { until } from '../support/until.ts'
import { startChatWorld, type ChatWorld } from './chat-world.ts'

let postgres: TestPostgres
let world: ChatWorld
beforeAll(async () => {
  postgres = await startTestPostgres()
  world = await startChatWorld(postgres)
})
afterAll(async () => {
  await world.stop()
  await postgres.stop()
})

const body = { model: 'berth/demo', messages: [{ role: 'user', content: 'Hello' }] }

test('a key that cannot be checked is answered 503 immediately with Retry-After, and served when Postgres is back', async () => {
  await postgres.killPostgres()
  await postgres.backendsGone()
  const answer = await world.post('/v1/chat/completions', body)
  expect(answer.status).toBe(503)
  expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0)
  expect(await answer.json()).toEqual({
    error: {
      type: 'api_error',
      code: 'credential_authority_unavailable',
      message: expect.any(String),
      param: null,
      request_id: answer.headers.get('x-request-id'),
      service_id: 'gateway',
    },
  })
  await postgres.restartPostgres()
  await until('it is served', async () => (await world.post('/v1/chat/completions', body)).status === 200)
})
