/** The console in a real browser: what its first page weighs, how soon it can be used, and how it holds under live changes. */
import { setTimeout as pause } from 'node:timers/promises'
import type { Page } from 'playwright-core'
import { sql } from '#src/platform/postgres.ts'
import { buildConsole } from '../../../src/console/build.ts'
import { launchChromium } from '../../support/browser/chromium.ts'
import { makeSilentNode, makeVmRow } from '../../support/makers.ts'
import { atMost, type Benchmark, type Effort, type Findings } from '../benchmark.ts'
import { median, rowOf, shown } from '../rounds.ts'
import { openWorld, type World } from '../world.ts'
import { noteFrames, signedIn } from './browser.ts'

const vmCount = 1_000
const eventsPerSecond = 50
const wanted = { firstPageKb: 200, usableMs: 1_000, changeMs: 100, listMs: 100, frameMs: 50 }
const kilobyte = 1_000

/** What a user waits for, measured in the page itself, to the frame after it. */
const waitInPage = `(click, isThere) => new Promise((resolve) => {
  const begunMs = performance.now()
  const look = () => isThere() && (observer.disconnect(), requestAnimationFrame(() => resolve(performance.now() - begunMs)))
  const observer = new MutationObserver(look)
  observer.observe(document.body, { subtree: true, childList: true, characterData: true })
  click()
})`

/** The benchmark. */
export const consolePages: Benchmark = { name: 'console', title: 'The console', measure }

async function measure(effort: Effort, say: (line: string) => void): Promise<Findings> {
  const world = await openWorld()
  const browser = await launchChromium()
  try {
    await buildConsole(world.config.cacheDir)
    await world.start(['src/gateway/main.ts'], /the web process listens/)
    const page = await signedIn(world, browser)
    const rounds = effort.quick ? 2 : effort.rounds * 3
    const first = await measureFirst(page, rounds)
    say(`first page: ${shown(first.kilobytes)} kB, usable after ${shown(median(first.usableMs))} ms`)
    const changes = await measureChanges(page, rounds)
    say(`page change: ${shown(median(changes))} ms`)
    await makeVms(world)
    const lists = await measureList(page, rounds)
    say(`list: ${shown(median(lists))} ms`)
    const frames = await measureFrames(world, page, effort.quick ? 2 : 10)
    say(`longest frame: ${shown(Math.max(...frames))} ms`)
    return findings(first, changes, lists, frames)
  } finally {
    await browser.close()
    await world.close()
  }
}

async function measureFirst(page: Page, rounds: number): Promise<{ kilobytes: number; usableMs: number[] }> {
  const usableMs: number[] = []
  const session = await page.context().newCDPSession(page)
  let bytes = 0
  session.on('Network.loadingFinished', ({ encodedDataLength }) => (bytes += encodedDataLength))
  await session.send('Network.enable')
  await session.send('Network.setCacheDisabled', { cacheDisabled: true })
  for (let round = 0; round < rounds; round++) {
    bytes = 0
    await page.reload()
    await page.getByRole('heading', { name: 'Home' }).waitFor()
    usableMs.push(await page.evaluate(() => performance.now()))
  }
  await session.detach()
  return { kilobytes: bytes / kilobyte, usableMs }
}

async function measureChanges(page: Page, rounds: number): Promise<number[]> {
  const times: number[] = []
  for (let round = 0; round < rounds; round++)
    for (const place of ['Keys', 'Databases'])
      times.push(
        await page.evaluate<number>(
          `(${waitInPage})(() => [...document.querySelectorAll('nav a')].find((a) => a.textContent.trim() === '${place}').click(), () => document.querySelector('h1')?.textContent === '${place}')`,
        ),
      )
  return times.slice(2) // their code is loaded by then
}

async function makeVms(world: World): Promise<void> {
  const token = await world.token()
  const node = await makeSilentNode(world.database.db)
  for (let made = 0; made < vmCount; made++) await makeVmRow(world.database.db, token, node)
  await sql`update vms set organization_id = (select id from organizations where name = 'bench')`.execute(
    world.database.db,
  )
}

async function measureList(page: Page, rounds: number): Promise<number[]> {
  const times: number[] = []
  for (let round = 0; round < rounds; round++) {
    await page.getByRole('link', { name: 'Home', exact: true }).click()
    times.push(
      await page.evaluate<number>(
        `(${waitInPage})(() => [...document.querySelectorAll('nav a')].find((a) => a.textContent.trim() === 'VMs').click(), () => document.querySelectorAll('tbody tr').length >= 100)`,
      ),
    )
  }
  return times
}

/** The lengths of frames while VMs change. Unit: ms. */
async function measureFrames(world: World, page: Page, seconds: number): Promise<number[]> {
  const frames = await noteFrames(page)
  for (let sent = 0; sent < seconds * eventsPerSecond; sent++) {
    await sql`update vms set name = ${`vm ${sent}`} where id = (select id from vms order by id offset ${sent % 100} limit 1)`.execute(
      world.database.db,
    )
    await pause(1_000 / eventsPerSecond)
  }
  return frames.end()
}

function findings(
  first: { kilobytes: number; usableMs: number[] },
  changes: number[],
  lists: number[],
  frames: number[],
): Findings {
  return {
    how: 'Chromium beside one web process and its Postgres on this machine, signed in. Times are taken in the page, to the frame after.',
    tables: [
      {
        title: 'What a user waits for',
        columns: ['what', 'times', 'p50 ms', 'p99 ms'],
        rows: [
          rowOf('the first page without a cache, until Home is there', first.usableMs),
          rowOf('another page, whose code is loaded', changes),
          rowOf(`the list of VMs, of which there are ${vmCount}, with the first 100`, lists),
          rowOf(`a frame while ${eventsPerSecond} VMs change a second`, frames),
        ],
      },
    ],
    goals: [
      atMost('the first page, over the network', first.kilobytes, wanted.firstPageKb, 'kB'),
      atMost('the first page until it can be used, p50', median(first.usableMs), wanted.usableMs),
      atMost('another page, p50', median(changes), wanted.changeMs),
      atMost(`the first 100 of ${vmCount} VMs, p50`, median(lists), wanted.listMs),
      atMost(`the longest frame while ${eventsPerSecond} VMs change a second`, Math.max(...frames), wanted.frameMs),
    ],
  }
}
