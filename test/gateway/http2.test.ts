/** Clients that begin with HTTP/2 without having asked whether the server speaks it. */
import { connect } from 'node:http2'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startApp, type RunningApp } from './running-app.ts'

let running: RunningApp
beforeAll(async () => {
  running = await startApp()
})
afterAll(() => running?.stop())

test('are told in HTTP/2 that this is HTTP/1.1', async () => {
  const session = connect(running.url)
  session.on('error', () => undefined) // it is what GOAWAY says, which is looked at here
  const [code, , words] = await new Promise<[number, number, Buffer]>((resolve, reject) => {
    session.once('goaway', (...said: [number, number, Buffer]) => resolve(said))
    session.once('close', () => reject(new Error('closed without an answer')))
  })
  session.destroy()
  expect(code).toBe(13) // HTTP_1_1_REQUIRED
  expect(words.toString()).toContain('This address speaks HTTP/1.1.')
})
