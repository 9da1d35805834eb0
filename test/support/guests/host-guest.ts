/** A node whose real agent has one machine, for every VM: its guest is this host, or says what a test wants. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import type { Channel, Command, Compute, Machine } from '#src/drivers/compute/machine.ts'
import { change, sql } from '#src/platform/postgres.ts'
import type { Background } from '#src/platform/services.ts'
import type { GuestEnv } from '#workers/infra/guest-env.ts'
import { openNodeAgent } from '#workers/infra/node-agent.ts'
import type { Berth } from '../berth.ts'
import { makeSilentNode, unnotedUse } from '../makers.ts'

/** The node. `printed`: what its guest prints; undefined: it runs commands on this host. Counts of commands, and of noted uses of VMs. */
export type HostGuest = {
  nodeId: string
  printed: string | undefined
  runs: number
  uses: number
  stop: () => Promise<void>
}

/** Starts one. VM rows are put on it. */
export async function startHostGuest({ services, dataDir }: Pick<Berth, 'services' | 'dataDir'>): Promise<HostGuest> {
  const { db, sealer } = services
  const nodeId = await makeSilentNode(db)
  const socketPath = join(dataDir, 'node.sock')
  await change(db, sql`update nodes set agent_url = ${`unix:${socketPath}`} where id = ${nodeId}`)
  const run = async (command: Command): Promise<Channel> => {
    guest.runs++
    return guest.printed === undefined ? onThisHost(command) : printing(guest.printed)
  }
  const agent = await openNodeAgent({
    services: { sealer } as Background, // no other operation is called
    compute: { find: () => ({ run }) as unknown as Machine } as Pick<Compute, 'find'> as Compute,
    env: {} as GuestEnv,
    use: { ...unnotedUse, begin: async () => (guest.uses++, () => undefined) },
    socketPath,
  })
  const guest: HostGuest = { nodeId, printed: undefined, runs: 0, uses: 0, stop: () => agent.close() }
  return guest
}

const exit = { exitCode: 0, timedOut: false }

/** Runs a command on this host, as a guest would. */
export function onThisHost({ argv: [program = '', ...args] }: Command): Channel {
  const child = spawn(program, args)
  const ended = once(child, 'close').then(([code]) => ({ ...exit, exitCode: code as number })) // as Node says
  return { stdin: child.stdin, stdout: child.stdout, stderr: child.stderr, exit: ended, close: () => child.kill() }
}

function printing(text: string): Channel {
  const stdout = new PassThrough()
  stdout.end(text)
  const ended = once(stdout, 'end').then(() => exit)
  return { stdin: new PassThrough(), stdout, stderr: new PassThrough(), exit: ended, close: () => undefined }
}
