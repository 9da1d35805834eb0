/** A loopback address for each machine, on which its SSH server answers. */
import { randomInt } from 'node:crypto'
import { createServer } from 'node:net'

/** Above 1024, because QEMU is not root. */
const sshPort = 2222
const triesMax = 20

/**
 * An address of 127.64.0.0/10 whose port is free right now; several installations share a host, so random addresses are
 * tried, not counted.
 */
export async function chooseAddress(): Promise<{ address: string; port: number }> {
  for (let tries = 0; tries < triesMax; tries++) {
    const address = `127.${randomInt(64, 128)}.${randomInt(0, 256)}.${randomInt(1, 255)}`
    if (await isFree(address)) return { address, port: sshPort }
  }
  throw new Error('no free loopback address was found for a machine')
}

function isFree(address: string): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer()
    server.once('error', () => resolve(false))
    server.listen(sshPort, address, () => server.close(() => resolve(true)))
  })
}
