/** A loopback address for each machine, on which its SSH server answers, and its Postgres if it has one. */
import { randomInt } from 'node:crypto'
import { createServer } from 'node:net'

/** Above 1024, because QEMU is not root. */
const sshPort = 2222
/** Not 5432: a server of this host that listens on every address would hold it on these too. */
const postgresPort = 25432
const triesMax = 20

/** Where a machine is reached from this host. */
export type MachineAddress = { address: string; port: number; postgresPort: number | null }

/**
 * An address of 127.64.0.0/10 whose ports are free right now; several installations share a host, so random addresses
 * are tried, not counted.
 */
export async function chooseAddress(runsPostgres: boolean): Promise<MachineAddress> {
  for (let tries = 0; tries < triesMax; tries++) {
    const address = `127.${randomInt(64, 128)}.${randomInt(0, 256)}.${randomInt(1, 255)}`
    if (!(await isFree(address, sshPort))) continue
    if (!runsPostgres) return { address, port: sshPort, postgresPort: null }
    if (await isFree(address, postgresPort)) return { address, port: sshPort, postgresPort }
  }
  throw new Error('no free loopback address was found for a machine')
}

function isFree(address: string, port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer()
    server.once('error', () => resolve(false))
    server.listen(port, address, () => server.close(() => resolve(true)))
  })
}
