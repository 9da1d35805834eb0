/** wrk, the load generator: one thread, keep-alive connections; GET, or POST of bodies that take turns. */
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'

/** What one run of wrk saw. */
export type Load = { requestsPerSecond: number; p50Ms: number; p99Ms: number; failed: number }

const afterwardsMs = 15_000 // what wrk may take beyond its time before it counts as stuck

/** @throws Error saying what to install when wrk is missing, or what it printed when that cannot be read. */
export async function runWrk(
  url: string,
  {
    seconds,
    connections,
    headers = {},
    bodies = [],
  }: {
    seconds: number
    connections: number
    headers?: Readonly<Record<string, string>>
    bodies?: readonly string[] | undefined
  },
): Promise<Load> {
  const script = bodies.length === 0 ? null : writeScript(bodies)
  const words = [
    ...(script ? ['--script', join(script, 'post.lua')] : []),
    '--threads',
    '1',
    '--connections',
    String(connections),
    '--duration',
    `${seconds}s`,
    '--timeout',
    '5s',
    '--latency',
    ...Object.entries(headers).flatMap(([name, value]) => ['--header', `${name}: ${value}`]),
    url,
  ]
  const { stdout } = await promisify(execFile)('wrk', words, { timeout: seconds * 1000 + afterwardsMs })
    .catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') throw new Error('wrk is missing. Install the Debian package: apt-get install wrk')
      throw error
    })
    .finally(() => script && rmSync(script, { recursive: true, force: true }))
  const number = (pattern: RegExp): number => Number(pattern.exec(stdout)?.[1] ?? 0)
  const requestsPerSecond = number(/Requests\/sec:\s+([\d.]+)/)
  if (requestsPerSecond === 0) throw new Error(`wrk measured nothing:\n${stdout}`)
  const socketErrors = /Socket errors: connect (\d+), read (\d+), write (\d+), timeout (\d+)/.exec(stdout)
  return {
    requestsPerSecond,
    p50Ms: milliseconds(/\s50%\s+([\d.]+)(us|ms|s)\b/.exec(stdout)),
    p99Ms: milliseconds(/\s99%\s+([\d.]+)(us|ms|s)\b/.exec(stdout)),
    failed:
      number(/Non-2xx or 3xx responses: (\d+)/) +
      (socketErrors?.slice(1).reduce((sum, one) => sum + Number(one), 0) ?? 0),
  }
}

function milliseconds(match: RegExpExecArray | null): number {
  const inMs = { us: 0.001, ms: 1, s: 1000 }
  return match ? Number(match[1]) * inMs[match[2] as keyof typeof inMs] : NaN // the pattern names these three
}

/** wrk posts by a script in a file. */
function writeScript(bodies: readonly string[]): string {
  const folder = mkdtempSync(join(tmpdir(), 'berth-wrk-'))
  const requests = bodies.map((body) => `  wrk.format('POST', nil, nil, [==[${body}]==]),`)
  writeFileSync(
    join(folder, 'post.lua'),
    `local requests, at
init = function()
  requests = {
${requests.join('\n')}
  }
  at = 0
end
request = function()
  at = at % #requests + 1
  return requests[at]
end
`,
  )
  return folder
}
