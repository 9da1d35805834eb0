/** A lock between processes of this host, for what two checkouts share. The kernel releases it when its holder dies. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'

/**
 * Runs the work while holding the lock on this file (made when missing). Waits for whoever holds it.
 * @param onWait called when somebody else holds it.
 */
export async function withHostLock<T>(path: string, onWait: () => void, work: () => Promise<T>): Promise<T> {
  // flock(1) holds the lock for as long as our end of its standard input is open, so a kill of this process frees it.
  const holder = spawn('flock', ['--exclusive', path, 'sh', '-c', 'echo held; exec cat > /dev/null'], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const waited = setTimeout(onWait, 500)
  const ended = once(holder, 'exit')
  try {
    await Promise.race([
      once(holder.stdout, 'data'),
      ended.then(() => {
        throw new Error(`the lock ${path} could not be taken`)
      }),
    ])
    clearTimeout(waited)
    return await work()
  } finally {
    clearTimeout(waited)
    holder.stdin.end()
    await ended.catch(() => undefined) // the work's own outcome is what counts
  }
}
