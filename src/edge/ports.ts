/** Ports of the edge process, which may still be another program's when it starts. */
import { setTimeout as pause } from 'node:timers/promises'
import { log } from '#src/platform/log.ts'

/** Where another program has the port, it is tried so often. */
const portAgainMs = 2_000

/**
 * Opens something, as soon as no other program has its port.
 * @param port as the log says it. @param what the port is. @param setting what to set instead
 */
export async function openWhenFree<Opened>(
  port: number | string,
  what: string,
  setting: string,
  open: () => Promise<Opened>,
): Promise<Opened> {
  for (let isFirst = true; ; isFirst = false) {
    try {
      return await open()
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && error.code === 'EADDRINUSE')) throw error
      if (isFirst) log.error({ port }, `another program has ${what}: stop it, or set ${setting}`)
      await pause(portAgainMs)
    }
  }
}
