/**
 * How VMs reach the databases of their project: a port of the guest's loopback address leads through this node to the edge
 * process, and the guest's /etc/hosts has the databases' network names for it. The VM of a function to which databases are
 * linked has the port. No other VM has either.
 */
import type { Duplex } from 'node:stream'
import { isDeepStrictEqual } from 'node:util'
import { nameLoopback } from '#src/drivers/compute/guest/hosts.ts'
import type { Machine } from '#src/drivers/compute/machine.ts'
import { connectToProjectDoor } from '#src/drivers/project-door.ts'
import { encodeId } from '#src/platform/ids.ts'
import { limits } from '#src/platform/limits.ts'
import { log } from '#src/platform/log.ts'
import type { Background } from '#src/platform/services.ts'
import { findNetworkNames, findNetworkOfVm, hasLinkedDatabases } from '#src/resources/infra/databases/networks.ts'
import type { Vm } from '#src/resources/infra/vms/rows.ts'
import { joinConnections } from '#src/drivers/joined-connections.ts'

/** The port of databases, under every name. */
const postgresPort = 5432

/** The VMs of this node that are in projects, and those of functions with databases. */
export type ProjectNetworks = {
  /** Lets a VM with this machine reach the databases of its project or function, if it has any; resolves when it knows their names. */
  join(vm: Pick<Vm, 'id' | 'projectId' | 'purpose'>, machine: Machine, hostname: string): Promise<void>
  /** Forgets a VM that has no machine any more. */
  leave(vmId: string): void
  /** Writes the names that VMs do not know yet into them. */
  writeNames(): Promise<void>
}

/** A VM: the names that it should know, and those that it knows; null where that is not known. */
type Member = {
  machine: Machine
  hostname: string
  wanted: readonly string[] | null
  known: readonly string[] | null
  writing: Promise<void> | undefined
  open: Set<Duplex>
}

/** No such VM needs names: its function has variables. */
const nameless: readonly string[] = []

/** Makes them; none at first. */
export function openProjectNetworks(services: Background): ProjectNetworks {
  const members = new Map<string, Member>()
  const writeNames = createNameWriter(services, members)
  services.pubsub.listen('database', () => void writeNames())
  return {
    async join({ id, projectId, purpose }, machine, hostname) {
      if (members.get(id)?.machine === machine) return
      const isFunction = purpose === 'function' && (await hasLinkedDatabases(services.db, id))
      if (!isFunction && (projectId === null || purpose !== null)) return
      const known = isFunction ? nameless : null
      const member: Member = { machine, hostname, wanted: null, known, writing: undefined, open: new Set() }
      machine.listen(postgresPort, (connection) => lead(services, id, connection, member.open))
      members.set(id, member)
      if (isFunction) return
      await writeNames()
      await member.writing
    },
    leave(vmId) {
      for (const connection of members.get(vmId)?.open ?? []) connection.destroy()
      members.delete(vmId)
    },
    writeNames,
  }
}

/**
 * Makes a function that reads the names and begins to write them. Only one reads at a time, and only one writes to a VM, so that
 * each ends up with the newest; a VM that does not answer keeps no other waiting.
 */
function createNameWriter({ db }: Background, members: ReadonlyMap<string, Member>): () => Promise<void> {
  let reading: Promise<void> | undefined
  let again = false

  async function write(vmId: string, member: Member): Promise<void> {
    try {
      while (
        member.wanted !== null &&
        !isDeepStrictEqual(member.known, member.wanted) &&
        members.get(vmId) === member
      ) {
        const names = member.wanted
        member.known = null // it is not known while this may have been done or not
        await nameLoopback(member.machine, member.hostname, names)
        member.known = names
      }
    } catch (error) {
      log.warn(
        { vm: encodeId('vm', vmId), err: error },
        'a VM was not told the names of its project’s databases; it is tried again',
      )
    }
  }

  async function readAll(): Promise<void> {
    try {
      while (again && members.size > 0) {
        again = false
        const names = await findNetworkNames(db, [...members.keys()])
        for (const [vmId, member] of members) {
          member.wanted = names.get(vmId) ?? []
          member.writing ??= write(vmId, member).finally(() => (member.writing = undefined))
        }
      }
    } catch (error) {
      log.warn({ err: error }, 'the names of databases could not be read; it is tried again')
    }
  }

  return () => {
    again = true
    reading ??= readAll().finally(() => (reading = undefined))
    return reading
  }
}

/**
 * Leads a connection that a VM's program opened to the edge process.
 * @param open the VM's connections.
 * @param idleMs one on which nothing is said for so long is cut; less for tests.
 */
export function lead(
  services: Pick<Background, 'db' | 'config'>,
  vmId: string,
  connection: Duplex,
  open: Set<Duplex>,
  idleMs: number = limits.projectIdleSeconds * 1000,
): void {
  connection.on('error', () => connection.destroy()) // `close` follows
  if (open.size >= limits.projectConnectionsPerVm + limits.projectConnectionsRefused) return void connection.destroy()
  open.add(connection)
  connection.once('close', () => open.delete(connection))
  leadToEdge(services, vmId, connection, idleMs).catch((error: unknown) => {
    log.warn({ vm: encodeId('vm', vmId), err: error }, 'a VM did not reach its databases')
    connection.destroy()
  })
}

async function leadToEdge(
  { db, config }: Pick<Background, 'db' | 'config'>,
  vmId: string,
  client: Duplex,
  idleMs: number,
): Promise<void> {
  const network = await findNetworkOfVm(db, vmId)
  if (network === null) return void client.destroy()
  const edge = await connectToProjectDoor(config.runDir, { network, vmId })
  const cut = (): void => {
    edge.destroy()
    client.destroy()
  }
  edge.on('error', cut).setTimeout(idleMs, cut)
  if (client.destroyed) return cut()
  joinConnections(client, edge)
}
