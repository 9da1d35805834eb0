/** Has the console built where that is missing: in a process of its own, beside everything else, which does not wait for it. */
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { setPriority } from 'node:os'
import { fileURLToPath } from 'node:url'
import type { Config } from '#src/platform/config.ts'
import { log } from '#src/platform/log.ts'
import { currentBuild } from './places.ts'

const command = fileURLToPath(new URL('build.ts', import.meta.url))
const niceness = 10
const errorsKept = 2_000 // characters

/** Begins it. What fails is said in the log; the API does not need the console. */
export function ensureConsole({ cacheDir }: Pick<Config, 'cacheDir'>): void {
  if (existsSync(currentBuild(cacheDir))) return
  const child = spawn(process.execPath, [command], { stdio: ['ignore', 'ignore', 'pipe'] })
  if (child.pid) setPriority(child.pid, niceness)
  let errors = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => (errors = (errors + text).slice(-errorsKept)))
  child.once('error', (error) => log.error({ err: error }, 'the console could not be built'))
  child.once('close', (code) => {
    if (code === 0) log.info('the console is built')
    else log.error({ code, errors }, 'the console could not be built: run npm run console to see why')
  })
  child.unref()
}
