/** A log of 100,000 lines and a transcript of 5,000 events in a real browser: until their end is there, and how they hold. */
import type { Page } from 'playwright-core'
import { encodeId } from '#src/platform/ids.ts'
import { appendBuildLog, createNumbering } from '#src/resources/infra/builds/logs.ts'
import { buildConsole } from '../../../src/console/build.ts'
import { launchChromium } from '../../support/browser/chromium.ts'
import { append, makeSessionRow } from '../../support/sessions.ts'
import { atMost, type Benchmark, type Effort, type Findings } from '../benchmark.ts'
import { median, rowOf, shown } from '../rounds.ts'
import { makeRunningBuild } from '../builds/running-build.ts'
import { openWorld, type World } from '../world.ts'
import { addressOf, noteFrames, signedIn } from './browser.ts'

const lineCount = 100_000
const linesAtOnce = 5_000
const eventCount = 5_000
const eventsAtOnce = 500
const scrolls = 40
const waitMs = 60_000
const wantedFrameMs = 50

/** What was measured of one page: until its end is there, and its frames until then and while one scrolls. Unit: ms. */
type Measured = { untilEndMs: number[]; comingMs: number[]; scrollingMs: number[] }

/** The benchmark. */
export const longPages: Benchmark = {
  name: 'console-long',
  title: 'Long logs and transcripts in the console',
  measure,
}

async function measure(effort: Effort, say: (line: string) => void): Promise<Findings> {
  const world = await openWorld()
  const browser = await launchChromium()
  try {
    await buildConsole(world.config.cacheDir)
    await world.start(['src/gateway/main.ts'], /the web process listens/)
    const token = await world.token()
    const [build, session] = [await makeBuild(world, token), await makeSession(world, token)]
    const page = await signedIn(world, browser, 'alice', 'acme')
    const rounds = effort.quick ? 1 : effort.rounds
    const log = await measurePage(page, `${addressOf(world)}/o/acme/builds/${build}`, `#L${lineCount}`, rounds)
    say(`log: ${shown(median(log.untilEndMs))} ms, longest frame ${shown(Math.max(...log.comingMs))} ms`)
    const transcript = await measurePage(
      page,
      `${addressOf(world)}/o/acme/sessions/${session}`,
      `text="event ${eventCount}."`,
      rounds,
    )
    say(
      `transcript: ${shown(median(transcript.untilEndMs))} ms, longest frame ${shown(Math.max(...transcript.comingMs))} ms`,
    )
    return findings(log, transcript)
  } finally {
    await browser.close()
    await world.close()
  }
}

async function makeBuild({ database: { db } }: World, token: string): Promise<string> {
  const { id, claim } = await makeRunningBuild(db, token)
  const next = createNumbering()
  for (let made = 0; made < lineCount; made += linesAtOnce) {
    const lines = Array.from({ length: linesAtOnce }, (_, at) => ({
      ...next(),
      output: `step ${made + at + 1}: compiling module ${(made + at) * 7} into the output of the build\n`,
    }))
    await appendBuildLog(db, claim, lines)
  }
  return encodeId('build', id)
}

async function makeSession({ database: { db } }: World, token: string): Promise<string> {
  const id = await makeSessionRow(db, token)
  for (let made = 0; made < eventCount; made += eventsAtOnce) {
    const events = Array.from({ length: eventsAtOnce }, (_, at) => ({
      type: at % 2 ? 'agent.message' : 'user.message',
      data: { content: [{ type: 'text', text: `event ${made + at + 1}.` }] },
    }))
    await append(db, id, ...events)
  }
  return encodeId('session', id)
}

async function measurePage(page: Page, address: string, lastThing: string, rounds: number): Promise<Measured> {
  const measured: Measured = { untilEndMs: [], comingMs: [], scrollingMs: [] }
  for (let round = 0; round < rounds; round++) {
    const tab = await page.context().newPage()
    await tab.goto(new URL('/', address).href)
    await tab.getByRole('heading', { name: 'Home' }).waitFor() // its code is there, as for who has it open
    const coming = await noteFrames(tab)
    const startedAt = performance.now()
    await tab.evaluate(
      `history.pushState({}, '', ${JSON.stringify(new URL(address).pathname)}); dispatchEvent(new PopStateEvent('popstate'))`,
    )
    await tab.locator(lastThing).waitFor({ timeout: waitMs })
    measured.untilEndMs.push(performance.now() - startedAt)
    measured.comingMs.push(...(await coming.end()))
    const scrolling = await noteFrames(tab)
    await tab.mouse.move(640, 400)
    for (let scrolled = 0; scrolled < scrolls; scrolled++)
      await tab.mouse.wheel(0, scrolled < scrolls / 2 ? -2_000 : 2_000)
    measured.scrollingMs.push(...(await scrolling.end()))
    await tab.close()
  }
  return measured
}

function findings(log: Measured, transcript: Measured): Findings {
  const row = (what: string, times: number[]): string[] => [...rowOf(what, times), shown(Math.max(...times))]
  const goal = (what: string, times: number[]) => atMost(what, Math.max(...times), wantedFrameMs)
  return {
    how: `Chromium beside one web process and its Postgres on this machine, each round in a tab of its own that has Home open: until the last of ${lineCount.toLocaleString('en')} lines, or of ${eventCount.toLocaleString('en')} events, is shown, and then scrolled up and down.`,
    tables: [
      {
        title: 'A long log and a long transcript',
        columns: ['what', 'times', 'p50 ms', 'p99 ms', 'longest ms'],
        rows: [
          row('until the last line is shown', log.untilEndMs),
          row('a frame while the lines come', log.comingMs),
          row('a frame while one scrolls through them', log.scrollingMs),
          row('until the last event is shown', transcript.untilEndMs),
          row('a frame while the events come', transcript.comingMs),
          row('a frame while one scrolls through them', transcript.scrollingMs),
        ],
      },
    ],
    goals: [
      goal('the longest frame while a log comes', log.comingMs),
      goal('the longest frame while one scrolls through it', log.scrollingMs),
      goal('the longest frame while a transcript comes', transcript.comingMs),
      goal('the longest frame while one scrolls through it', transcript.scrollingMs),
    ],
  }
}
