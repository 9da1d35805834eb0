/**
 * What a driver of machines offers. The QEMU driver implements it; a second one (Kubernetes, a cloud's VMs)
 * implements the same. Everything inside a machine goes through `run`; see guest.ts for the nouns built on it.
 */
import type { Duplex, Readable, Writable } from 'node:stream'
import type { Logger } from 'pino'
import type { UidRange } from '#src/platform/settings/readers.ts'

/** What a machine must be. A second request with the same id and another shape is a bug of the caller. */
export type MachineSpec = {
  /** The 26 base32 digits of the VM's id, without the prefix. */
  id: string
  /** Which template its disk starts from: `base`, or the uuid of one that `keepTemplate` made on this node. */
  template: 'base' | { templateId: string }
  vcpuCount: number
  memoryMb: number
  diskMb: number
  hostname: string
  /** The disk at /home/user/workspace: a fresh one, none, or the uuid of one made before. */
  folder: 'new' | 'none' | { folderId: string }
}

/** A command for the guest, executed without a shell. */
export type Command = {
  argv: readonly string[]
  /** `user` (uid 1000, with the VM's environment variables) unless `root`. */
  as?: 'user' | 'root'
  /** Default /home/user. */
  workingDir?: string
  /** After this the process group gets SIGTERM, 5 s later SIGKILL, and the exit code is 124. */
  timeoutMs: number
}

/** How a command ended. `exitCode` is 128 + signal when a signal killed it, and 124 when the time ran out. */
export type Exit = { exitCode: number; timedOut: boolean }

/** One running command: the guest's end is a process group of its own. */
export type Channel = {
  stdin: Writable
  stdout: Readable
  stderr: Readable
  /** Rejects with BerthError `vm_unreachable` when the connection is lost before the command ends. */
  exit: Promise<Exit>
  /** Ends the command (its whole group is killed in the guest). Idempotent. */
  close(): void
}

/** A machine that runs. */
export type Machine = {
  readonly id: string
  /** The address at which this node reaches the machine: a loopback address of its own. */
  readonly address: string
  /** The uuid of the disk mounted at /home/user/workspace, or null. */
  readonly folderId: string | null
  /**
   * Starts a command; resolves when the guest has taken it.
   * @throws BerthError `vm_unreachable` when the guest does not answer.
   */
  run(command: Command, signal?: AbortSignal): Promise<Channel>
  /** As `run`, for the other requests that the guest's own program knows (guest/image/main.c). */
  request(fields: readonly string[], signal?: AbortSignal): Promise<Channel>
}

/** Where a taken machine came from: the warm pool, a snapshot, or a cold boot. */
export type TakenFrom = 'existing' | 'pool' | 'snapshot' | 'boot'

/** A machine's directory on disk, whether or not something runs in it. */
export type Resident = { id: string; live: boolean; paused: boolean; folderId: string | null }

/** Reports how far a long preparation is: 0 to 1, and what it is doing. */
export type Progress = (fraction: number, sentence: string) => void

/** What a driver needs to know. */
export type ComputeOptions = {
  /** Templates and snapshots, shared by the checkouts of this host. */
  cacheDir: string
  /** Machines and folder disks live below it. */
  dataDir: string
  /** Sockets; short enough for `/vms/<uuid>.qmp` within 107 bytes. */
  runDir: string
  /** Machines of the default shape that are kept warm. */
  poolSize: number
  /** The range of system users for machines, one each, when this process is root; null when it is not, and they run as its user. */
  vmUids: UidRange | null
  log: Logger
  /** A process in the machine opened a connection to its proxy (127.0.0.1:3128 inside). Untrusted bytes. */
  onEgress(id: string, connection: Duplex): void
  /** A machine ended without being stopped: its guest powered off, or QEMU died or rebooted (`lost`). */
  onExit(id: string, how: 'guest' | 'lost'): void
}

/** A node's machines. */
export type Compute = {
  readonly acceleration: 'kvm' | 'emulation'
  /** How many warm machines wait in the pool. */
  readonly warm: number
  /** Builds the templates and the snapshot of the default shape when they are missing. Idempotent. */
  prepare(progress: Progress): Promise<void>
  /** After a worker's restart: every machine that lives, connected again. The pool's own are kept as the pool. */
  adopt(): Promise<Machine[]>
  /** Starts keeping the pool full. Call it once, after `adopt`. */
  fillPool(): void
  /**
   * A running machine for this spec: the one that has this id already, else one from the pool, else restored, else booted.
   * @throws BerthError `capacity_unavailable` when this node cannot start it.
   */
  take(spec: MachineSpec): Promise<{ machine: Machine; from: TakenFrom }>
  /** Starts a stopped or crashed machine from its own disk. Its environment must be pushed again. */
  boot(spec: MachineSpec): Promise<Machine>
  /** The running machine with this id. */
  find(id: string): Machine | undefined
  /** Flushes disks and powers off within 10 s, then kills. The disk stays. Idempotent. */
  stop(id: string): Promise<void>
  /** Kills the machine and removes every file of it except its folder's disk. Idempotent. */
  destroy(id: string): Promise<void>
  /** Saves the memory to a file and ends QEMU. */
  pause(id: string): Promise<void>
  /**
   * Continues a paused machine exactly where it was.
   * @throws BerthError `invalid_transition` when that is not possible any more (another QEMU version, a changed disk): boot it instead.
   */
  resume(spec: MachineSpec): Promise<Machine>
  /** Every machine on disk, the pool's left out. */
  residents(): Promise<Resident[]>
  /** The uuid of a new, empty folder disk. */
  createFolder(): Promise<string>
  /**
   * Copies a folder's disk to a file of this host, for a backup. A machine that has it mounted stands still meanwhile, so
   * that the copy is of one moment.
   * @returns false when there is no such disk.
   */
  copyFolder(folderId: string, to: string): Promise<boolean>
  /** Removes a folder's disk. Idempotent. The machine that has it must be gone. */
  removeFolder(folderId: string): Promise<void>
  /**
   * Keeps a stopped machine's disk as a template, on its own: nothing of the machine or of `base` is needed afterwards.
   * @throws Error when the machine runs, or the disk cannot be copied; nothing is left then.
   */
  keepTemplate(id: string, templateId: string): Promise<{ sizeBytes: number }>
  /** Removes such a template. Idempotent. No machine may be left that was made from it. */
  removeTemplate(templateId: string): Promise<void>
  /**
   * The worker stops: connections are dropped, and the machines of VMs go on. Those of the pool are ended, because no VM
   * uses them; `keepPool` leaves them to the next worker, as a kill would.
   */
  close(options?: { keepPool?: boolean }): Promise<void>
}
