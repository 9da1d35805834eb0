/** A lock between commands that run at once: a file that one process has at a time. */
import { closeSync, linkSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { pause } from '../src/client/chance.ts'
import { Failure } from './errors.ts'
import { makeFolderOf, unwritable } from './json-files.ts'

/** Limits of waiting. A refresh that holds the lock ends sooner. */
const waitMsMax = 90_000
const lookMs = 50

type Owner = { pid: number; host: string }

let taken = 0

/**
 * Does the work while nobody else has the lock. One whose process is gone is taken over, at the host that it ran on.
 * @throws Failure when another process has had it for 90 s.
 */
export async function withLock<Result>(file: string, work: () => Promise<Result>): Promise<Result> {
  await take(file)
  try {
    return await work()
  } finally {
    rmSync(file, { force: true })
  }
}

async function take(file: string): Promise<void> {
  makeFolderOf(file)
  const own = `${file}.${process.pid}.${taken++}`
  const text = JSON.stringify({ pid: process.pid, host: hostname() } satisfies Owner)
  try {
    writeFileSync(own, text, { mode: 0o600 })
  } catch (error) {
    rmSync(own, { force: true })
    throw unwritable(file, error)
  }
  try {
    const endsMs = performance.now() + waitMsMax
    while (!claim(file, own, text)) {
      removeIfLeft(file)
      if (performance.now() > endsMs)
        throw new Failure(
          `Another command has held ${file} for ${waitMsMax / 1000} s. If none runs, delete it, and ${turnOf(file)}.`,
        )
      await pause(lookMs)
    }
  } finally {
    rmSync(own, { force: true })
  }
}

/** Whether it is ours now: the file is there with its text, or not at all. */
function claim(file: string, own: string, text: string): boolean {
  try {
    linkSync(own, file)
    return true
  } catch (error) {
    if (isThere(error)) return false
  }
  try {
    writeFileSync(file, text, { mode: 0o600, flag: 'wx' }) // there are file systems without links
    return true
  } catch (error) {
    if (isThere(error)) return false
    throw error
  }
}

/** Removes the lock of a process that is gone: one at a time does, so that nobody removes the lock of who came next. */
function removeIfLeft(file: string): void {
  if (!isLeft(file)) return
  const turn = turnOf(file)
  try {
    closeSync(openSync(turn, 'wx', 0o600))
  } catch (error) {
    if (isThere(error)) return
    throw error
  }
  try {
    if (isLeft(file)) rmSync(file, { force: true })
  } finally {
    rmSync(turn, { force: true })
  }
}

function turnOf(file: string): string {
  return `${file}.turn`
}

/** Whether its process is proven to be gone. */
function isLeft(file: string): boolean {
  let owner: Owner
  try {
    owner = JSON.parse(readFileSync(file, 'utf8')) as Owner // only we write it
  } catch {
    return false // it was released, or is being written
  }
  if (owner.host !== hostname()) return false
  try {
    process.kill(owner.pid, 0)
    return false
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ESRCH'
  }
}

function isThere(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === 'EEXIST'
}
