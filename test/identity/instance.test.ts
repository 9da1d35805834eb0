/** What anybody may know of a Berth before signing in. */
import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startBerth, type Berth } from '../support/berth.ts'

const issuer = 'https://login.example.com'
let berth: Berth
beforeAll(async () => {
  berth = await startBerth({
    settings: {
      BERTH_ISSUERS: JSON.stringify([{ issuer, jwks_uri: `${issuer}/keys`, audience: 'ours-alone' }]),
      BERTH_RATE_LIMIT_FACTOR: '2',
    },
  })
})
afterAll(() => berth.stop())

const query =
  '{ instance { version hasLocalSignIn canSendMail issuers limits { pageSizeMax requestsPerMinute createsPerMinute } } }'

test('its version, ways to sign in and limits are told without a token, and nothing else of its settings', async () => {
  const { body } = await berth.ask(query)
  const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string }
  expect(body.data?.['instance']).toEqual({
    version,
    hasLocalSignIn: expect.any(Boolean),
    canSendMail: false,
    issuers: [issuer],
    limits: { pageSizeMax: 100, requestsPerMinute: 1200, createsPerMinute: 600 },
  })
  expect(JSON.stringify(body)).not.toMatch(/ours-alone|keys/)
})

test('a token that is wrong is refused there as everywhere', async () => {
  const { status, body } = await berth.ask(query, { token: 'not.a.token' })
  expect([status, body.errors?.[0]?.extensions.code]).toEqual([401, 'UNAUTHORIZED'])
})
