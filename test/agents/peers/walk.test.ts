/** The walk of docs/peers.md, run as it is printed. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startBerth, type Berth } from '../../support/berth.ts'
import { paste, shellBlocks } from '../../support/paste.ts'

let berth: Berth
beforeAll(async () => {
  berth = await startBerth({ worker: true, settings: { BERTH_VMS: 'off', BERTH_RATE_LIMIT_FACTOR: '100' } })
})
afterAll(() => berth?.stop())

test('an agent asks another one, and the exchange is read and stopped, as docs/peers.md prints it', async () => {
  const printed = await paste(shellBlocks('docs/peers.md'), { url: berth.url, env: { TOKEN: await berth.token() } })
  const [, streamed, exchange, told, stopped] = printed
  expect(streamed).toMatch(/"type":"agent\.tool_result".*By the number of values\./)
  expect(streamed).toContain('Now I know.')
  expect(JSON.parse(exchange ?? '')).toMatchObject({
    type: 'peer_exchange',
    state: 'completed',
    answer: { text: 'By the number of values.' },
  })
  expect(told).toContain('The agent \\"colleague\\", in the session')
  expect(stopped?.trim()).toBe('')
})
