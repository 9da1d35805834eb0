/** The console's terminal on a real VM: from a key to its echo on the screen, and how much may be printed at once. */
import { setTimeout as pause } from 'node:timers/promises'
import type { Page } from 'playwright-core'
import { buildConsole } from '../../../src/console/build.ts'
import { launchChromium } from '../../support/browser/chromium.ts'
import { atMost, type Benchmark, type Effort, type Findings, type Goal } from '../benchmark.ts'
import { median, quantile, rowOf, shown } from '../rounds.ts'
import { startHost, withVms } from '../vm-host.ts'
import { openWorld } from '../world.ts'
import { addressOf, noteFrames, signedIn } from './browser.ts'

const keysPerRound = 30
const betweenKeysMs = 100
const printedMegabytes = 20
const megabyte = 1_000_000
const waitMs = 180_000
const wanted = { echoMs: 30, megabytesPerSecond: 10, frameMs: 50 }
const rowsOf = '.xterm-rows'

/** The benchmark. */
export const terminals: Benchmark = { name: 'console-terminal', title: 'The console’s terminal', measure }

async function measure(effort: Effort, say: (line: string) => void): Promise<Findings> {
  const world = await openWorld()
  const browser = await launchChromium()
  try {
    await buildConsole(world.config.cacheDir)
    return await withVms(world, async () => {
      const host = await startHost(world, 0)
      const { id } = await host.create()
      await host.calm(1)
      const page = await signedIn(world, browser, 'alice', 'acme')
      await page.goto(`${addressOf(world)}/o/acme/vms/${id}?tab=terminal`)
      await page.getByRole('button', { name: 'Open a terminal' }).click()
      await page.getByText('Attached.').waitFor()
      const rounds = effort.quick ? 1 : effort.rounds
      await run(page, 'PS1=; cat > /dev/null')
      const echoes = await measureEchoes(page, rounds)
      say(`key to echo: p50 ${shown(median(echoes))} ms, p99 ${shown(quantile(echoes, 0.99))} ms`)
      await page.keyboard.press('Control+c')
      await run(
        page,
        `yes 'a line of eighty characters that a program prints again and again, and so on ...' | head -c ${printedMegabytes}000000 > printed; clear; echo written`,
      )
      await shows(page, 'written')
      const speeds: number[] = []
      const frames: number[] = []
      for (let round = 0; round < rounds; round++) {
        const printed = await measurePrinted(page, round)
        speeds.push(printed.megabytesPerSecond)
        frames.push(...printed.frames)
      }
      say(`printed: ${shown(median(speeds))} MB/s, longest frame ${shown(Math.max(...frames))} ms`)
      return findings(echoes, speeds, frames)
    })
  } finally {
    await browser.close()
    await world.close()
  }
}

async function run(page: Page, command: string): Promise<void> {
  await page.keyboard.type(command)
  await page.keyboard.press('Enter')
}

async function shows(page: Page, text: string): Promise<void> {
  await page.locator(rowsOf, { hasText: text }).waitFor({ timeout: waitMs })
}

/** From the moment at which the page gets a key to the frame in which the screen shows it. Unit: ms. */
async function measureEchoes(page: Page, rounds: number): Promise<number[]> {
  await page.evaluate(`{ globalThis.benchEchoes = []; let pressed = 0
    addEventListener('keydown', () => { pressed = performance.now() }, { capture: true })
    new MutationObserver(() => { if (!pressed) return
      const since = pressed; pressed = 0; requestAnimationFrame(() => globalThis.benchEchoes.push(performance.now() - since)) })
      .observe(document.querySelector('${rowsOf}'), { subtree: true, childList: true, characterData: true }) }`)
  for (let pressed = 0; pressed < rounds * keysPerRound; pressed++) {
    await page.keyboard.press('x')
    await pause(betweenKeysMs)
  }
  return page.evaluate<number[]>('globalThis.benchEchoes')
}

async function measurePrinted(page: Page, round: number): Promise<{ megabytesPerSecond: number; frames: number[] }> {
  const noted = await noteFrames(page)
  const startedAt = performance.now()
  await run(page, `cat printed; echo printed-$((${round} + 0))-whole`)
  await shows(page, `printed-${round}-whole`)
  const seconds = (performance.now() - startedAt) / 1_000
  return { megabytesPerSecond: (printedMegabytes * megabyte) / megabyte / seconds, frames: await noted.end() }
}

function findings(echoes: number[], speeds: number[], frames: number[]): Findings {
  const goals: Goal[] = [
    atMost('from a key to its echo on the screen, p50', median(echoes), wanted.echoMs),
    {
      what: 'what a program prints, onto the screen',
      wanted: `≥ ${wanted.megabytesPerSecond} MB/s`,
      measured: `${shown(median(speeds))} MB/s`,
      met: median(speeds) >= wanted.megabytesPerSecond,
    },
    atMost('the longest frame meanwhile', Math.max(...frames), wanted.frameMs),
  ]
  return {
    how: `Chromium, one web process, one worker and one VM on this machine. A key each ${betweenKeysMs} ms to \`cat\`, whose pty echoes it; then a file of ${printedMegabytes} MB is printed, until a line after it is on the screen. Without hardware acceleration the guest, which runs the pty and encrypts its SSH connection, is emulated.`,
    tables: [
      {
        title: 'A terminal',
        columns: ['what', 'times', 'p50', 'p99'],
        rows: [
          rowOf('from a key to its echo, ms', echoes),
          rowOf('printed, MB/s', speeds),
          rowOf('a frame meanwhile, ms', frames),
        ],
      },
    ],
    goals,
  }
}
