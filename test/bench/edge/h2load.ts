/** h2load, the load generator for TLS: HTTP/1.1 and HTTP/2, one thread, connections that are kept. */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { benchHost, benchPath } from './peers.ts'

const afterwardsMs = 15_000 // what it may take beyond its time before it counts as stuck

/** What one run saw; null where the program is missing. @throws Error saying what it printed when that cannot be read */
export async function runH2load(
  port: number,
  { protocol, seconds, connections }: { protocol: 'h1' | 'h2'; seconds: number; connections: number },
): Promise<{ requestsPerSecond: number; failed: number } | null> {
  const words = [
    ...(protocol === 'h1' ? ['--h1'] : []),
    ...['--clients', String(connections), '--max-concurrent-streams', protocol === 'h1' ? '1' : '4'],
    ...['--threads', '1', '--duration', String(seconds), '--connect-to', `127.0.0.1:${port}`],
    `https://${benchHost}:${port}${benchPath}`,
  ]
  const run = promisify(execFile)('h2load', words, { timeout: seconds * 1000 + afterwardsMs })
  const stdout = await run.then(
    (printed) => printed.stdout,
    (error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return null
      throw error
    },
  )
  if (stdout === null) return null
  const [, rate] = /finished in [\d.]+m?s, ([\d.]+) req\/s/.exec(stdout) ?? []
  const [, done, failed] = /(\d+) done, \d+ succeeded, (\d+) failed/.exec(stdout) ?? []
  const [, good] = /status codes: (\d+) 2xx/.exec(stdout) ?? []
  if (rate === undefined || !(Number(rate) > 0)) throw new Error(`h2load measured nothing:\n${stdout}`)
  return { requestsPerSecond: Number(rate), failed: Number(failed) + Math.max(0, Number(done) - Number(good)) }
}
