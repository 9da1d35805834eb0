/** Ports for servers that tests start. */
import { whyNotListen } from '../../src/start/instance.ts'

const lowest = 11_000
const highest = 32_000 // above 32768 an outgoing connection may take the port meanwhile
const triesMax = 50

/** A port on 127.0.0.1 that nobody listens on now. Random, so that two test runs beside each other seldom meet. */
export async function freePort(): Promise<number> {
  for (let attempt = 0; attempt < triesMax; attempt++) {
    const port = lowest + Math.floor(Math.random() * (highest - lowest))
    if ((await whyNotListen('127.0.0.1', port)) === null) return port
  }
  throw new Error(`no free port between ${lowest} and ${highest} after ${triesMax} tries`)
}
