/** How long the command line takes to start, beside Node that does nothing. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { environmentWith } from '#src/platform/config.ts'
import { inRounds } from '../rounds.ts'

const starts = 30

/** Milliseconds of each start, by round: Node alone, `berth --version` to its end, and `berth vm ls` until its request is there. */
export type Starts = Record<'node' | 'version' | 'list', number[]>

/** Starts each of the three thirty times, in turn. `quick`: once. */
export async function measureStarts(quick: boolean): Promise<Starts> {
  let asked: () => void = () => undefined
  const server = createServer((_request, response) => {
    asked()
    response.writeHead(401).end('{}')
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo // it listens
  const env = environmentWith({ BERTH_URL: `http://127.0.0.1:${port}`, BERTH_TOKEN: 'none', HOME: '/nonexistent' })
  const run = async (words: readonly string[], until?: Promise<void>): Promise<number> => {
    const startedAt = performance.now()
    const child = spawn(process.execPath, words, { env, stdio: 'ignore' })
    const closed = once(child, 'close')
    await (until ?? closed)
    const tookMs = performance.now() - startedAt
    await closed
    return tookMs
  }
  const [node = [], version = [], list = []] = await inRounds(
    quick ? 1 : starts,
    [
      () => run(['-e', '0']),
      () => run(['cli/main.ts', '--version']),
      () => run(['cli/main.ts', 'vm', 'ls'], new Promise((resolve) => (asked = resolve))),
    ],
    (start) => start(),
  )
  server.close()
  return { node, version, list }
}
