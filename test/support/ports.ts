/** Ports for servers that tests start. */
import { whyNotListen } from '../../src/start/instance.ts'

const lowest = 11_000
const highest = 32_000 // above 32768 an outgoing connection may take the port meanwhile
const triesMax = 50
/** Test files that run at the same time draw from different shares of the ports. */
const shares = 8
const share = Number(process.env.VITEST_POOL_ID ?? 0) % shares
const given = new Set<number>()

/**
 * A port on 127.0.0.1 that nobody listens on now, and that no test of this run is given meanwhile: it may as well stay the
 * address of a server that cannot be reached. Random, so that two test runs beside each other seldom meet.
 */
export async function freePort(): Promise<number> {
  for (let attempt = 0; attempt < triesMax; attempt++) {
    const port = lowest + share + shares * Math.floor(Math.random() * ((highest - lowest) / shares))
    if (given.has(port) || (await whyNotListen('127.0.0.1', port)) !== null) continue
    given.add(port)
    return port
  }
  throw new Error(`no free port between ${lowest} and ${highest} after ${triesMax} tries`)
}
