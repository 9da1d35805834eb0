/** Workers and web processes that are killed in the middle of a reply: its readers go on, and see no gap and nothing twice. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { makeAgent } from '../../support/agents-service.ts'
import { startBerth, type Berth } from '../../support/berth.ts'
import { startCommand, type Command } from '../../support/command.ts'
import { freePort } from '../../support/ports.ts'
import {
  areWhole,
  kindsOf,
  makeGroup,
  readRun,
  textsOf,
  type ChunkFrame,
  type RunReader,
  type TestGroup,
} from './run-streams.ts'
import { until } from '../../support/until.ts'

let berth: Berth
let token: string
let group: TestGroup
beforeAll(async () => {
  berth = await startBerth({ settings: { BERTH_RATE_LIMIT_FACTOR: '100' } })
  token = await berth.token()
  group = await makeGroup(berth, token, { agent: await makeAgent(berth, token) })
})
afterAll(() => berth.stop())

const settings = async (): Promise<Record<string, string>> => ({
  BERTH_VMS: 'off',
  BERTH_DATA_DIR: berth.dataDir,
  DATABASE_URL: berth.services.database.url,
  BERTH_LOG_LEVEL: 'error',
  BERTH_RATE_LIMIT_FACTOR: '100',
  BERTH_PUBLIC_URL: berth.services.config.publicUrl, // the issuer of the tokens
  PORT: String(await freePort()),
})
const startWorker = async (): Promise<Command> => startCommand(['workers/main.ts'], await settings())
/** A web process besides the test's own. */
async function startWeb(): Promise<{ url: string; web: Command }> {
  const its = await settings()
  const web = startCommand(['src/gateway/main.ts'], its)
  const url = `http://127.0.0.1:${its['PORT']}`
  await until('the web process answers', async () => (await fetch(`${url}/healthz`).catch(() => null))?.ok ?? false)
  return { url, web }
}
async function kill({ child, ended }: Command): Promise<void> {
  child.kill('SIGKILL')
  await ended
}

test('a reply whose workers and whose web process are killed is whole for a reader that resumes', async () => {
  const processes: Command[] = []
  const started = <One extends Command>(one: One): One => {
    processes.push(one)
    return one
  }
  try {
    let worker = started(await startWorker())
    const { url, web } = await startWeb()
    started(web)
    const run = await group.say('!pace 100\n!repeat 40 word ')
    const seen: ChunkFrame[] = []
    const open = (from: Pick<Berth, 'url'>): Promise<RunReader> =>
      readRun(from, token, run, seen.length > 0 ? { cursor: seen.at(-1)?.number ?? 0 } : {})
    const isDelta = ({ chunk }: ChunkFrame): boolean => chunk.type === 'text-delta'
    const through = await open({ url })
    expect([through.status, through.body]).toEqual([200, ''])
    await through.until(isDelta)
    await kill(worker)
    worker = started(await startWorker())
    await through.until((frame) => isDelta(frame) && frame.chunk['id'] !== through.frames.find(isDelta)?.chunk['id'])
    await kill(web)
    await expect(through.rest()).rejects.toThrow()
    seen.push(...through.frames)
    await kill(worker)
    const resumed = await open(berth)
    started(await startWorker())
    seen.push(...(await resumed.rest()))
    expect([areWhole(seen), resumed.isDone]).toEqual([true, true])
    expect(seen).toEqual(await (await readRun(berth, token, run)).rest())
    const texts = textsOf(seen)
    expect(texts).toHaveLength(3)
    expect(texts[2]).toBe('word '.repeat(40))
    expect(texts.slice(0, 2).every((text) => texts[2]?.startsWith(text) && text.length < 200)).toBe(true)
    const oneAttempt = ['start-step', 'text-start', 'text-delta', 'text-end', 'finish-step']
    expect(kindsOf(seen)).toEqual([
      'start',
      'data-group-run',
      ...oneAttempt,
      ...oneAttempt,
      ...oneAttempt,
      'data-group-run',
      'finish',
    ])
    expect((await group.get(run)).reply?.text.trim()).toBe('word '.repeat(40).trim())
  } finally {
    await Promise.all(processes.map(kill))
  }
}, 60_000)
