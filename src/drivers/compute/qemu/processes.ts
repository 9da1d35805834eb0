/** Finds the QEMU processes of this node, and ends them. A process outlives the worker; it is known by its user and the uuid on its command line. */
import { readdirSync, statSync } from 'node:fs'
import { readFile } from 'node:fs/promises'

const killWaitMs = 10_000
const killLookEveryMs = 5

/** Whether a process of this user may be the machine's: a QEMU can write what it likes on its command line, but not change its user. */
export type Owns = (machineUuid: string, uid: number) => boolean

/** The live QEMU processes whose command line names a file below a folder, by the uuid of their machine. Read from /proc. */
export async function findQemus(folder: string, owns: Owns = () => true): Promise<Map<string, number>> {
  return new Map((await lookFor(folder, owns)).map(({ machineUuid, pid }) => [machineUuid, pid]))
}

/** Kills such processes, and waits until they are gone. */
export async function endQemus(folder: string, owns: Owns): Promise<void> {
  for (const { pid, machineUuid, uid } of await lookFor(folder, owns)) await killQemu(pid, machineUuid, uid)
}

/**
 * Kills a machine's QEMU and waits until it is gone, its files closed: only then is the room of disks that are removed
 * free. Does nothing if the process id belongs to another process by now.
 * @param uid the machine's user; null means the current user.
 */
export async function killQemu(pid: number, machineUuid: string, uid: number | null): Promise<void> {
  const own = process.getuid!()
  // For a moment it still runs as us, before it changes its user.
  const isMachine = (seen: Seen | undefined): boolean =>
    seen?.machineUuid === machineUuid && (seen.uid === (uid ?? own) || seen.uid === own)
  const deadline = performance.now() + killWaitMs
  const startedAt = (await lifeOf(pid))?.startedAt
  const isLeft = async (): Promise<boolean> => {
    const life = await lifeOf(pid)
    return life !== undefined && life.startedAt === startedAt && !life.isOver
  }
  if (!isMachine(await lookAt(pid))) return
  while (await isLeft()) {
    if (performance.now() > deadline) throw new Error(`QEMU process ${pid} cannot be killed`)
    signal(pid)
    await new Promise((resolve) => setTimeout(resolve, killLookEveryMs))
  }
}

/**
 * When a process started, in ticks of the host's clock, and whether all its threads have ended. Its command line is
 * empty as soon as its first thread has ended; the others may still hold its files. Undefined when there is none.
 */
async function lifeOf(pid: number): Promise<{ startedAt: string | undefined; isOver: boolean } | undefined> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '') // it has ended
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ') // from the third, its state
  const [state, threads, startedAt] = [fields[0], fields[17], fields[19]]
  return state ? { startedAt, isOver: /[ZX]/.test(state) && Number(threads) <= 1 } : undefined
}

function signal(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error // gone is what we want
  }
}

type Seen = { pid: number; words: string[]; machineUuid: string; uid: number }

async function lookFor(folder: string, owns: Owns): Promise<Seen[]> {
  const found: Seen[] = []
  for (const name of readdirSync('/proc')) {
    const seen = /^\d+$/.test(name) ? await lookAt(Number(name)) : undefined
    if (seen?.words.some((word) => word.includes(`${folder}/`)) && owns(seen.machineUuid, seen.uid)) found.push(seen)
  }
  return found
}

/** A process, if its command line is a QEMU's with a uuid. */
async function lookAt(pid: number): Promise<Seen | undefined> {
  try {
    const words = (await readFile(`/proc/${pid}/cmdline`, 'utf8')).split('\0') // empty for a zombie
    const at = words.indexOf('-uuid')
    if (at < 0 || !words.some((word) => word.includes('qemu-system'))) return undefined
    return { pid, words, machineUuid: words[at + 1] ?? '', uid: statSync(`/proc/${pid}`).uid }
  } catch {
    return undefined // it ended while we looked
  }
}
