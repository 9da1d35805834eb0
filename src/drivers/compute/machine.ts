/**
 * The interface of a machine driver. The QEMU driver implements it; a second one (Kubernetes, a cloud's VMs) implements
 * the same. Everything inside a machine goes through `run`; see the folder guest/ for what is built on it.
 */
import type { Duplex, Readable, Writable } from 'node:stream'
import type { Logger } from 'pino'
import type { UidRange } from '#src/platform/settings/readers.ts'
import type { LaterTemplate, TemplateName } from './templates/names.ts'

/** The specification of a machine. A second request with the same id and another shape is a bug of the caller. */
export type MachineSpec = {
  /** The 26 base32 digits of the VM's id, without the prefix. */
  id: string
  /**
   * Which template its disk starts from: `base`; `data`, which has more; `postgres`, whose guest runs a Postgres on the folder's
   * disk; or the uuid of one that `keepTemplate` made on this node.
   */
  template: TemplateName | { templateId: string }
  vcpuCount: number
  memoryMb: number
  diskMb: number
  hostname: string
  /** The disk at /home/user/workspace: a fresh one, none, or the uuid of one made before. */
  folder: 'new' | 'none' | { folderId: string }
  /** How large that disk shall be; its usual size when absent. It never shrinks. */
  folderMb?: number
  /** How long it needs the processors once it runs, so that the node starts no further machine ahead meanwhile; ms. */
  busyMs?: number
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

/** One running command, which is a process group of its own in the guest. */
export type Channel = {
  stdin: Writable
  stdout: Readable
  stderr: Readable
  /** Rejects with BerthError `vm_unreachable` when the connection is lost before the command ends. */
  exit: Promise<Exit>
  /** Ends the command (its whole group is killed in the guest). Idempotent. */
  close(): void
}

/** A running machine. */
export type Machine = {
  readonly id: string
  /** The address at which this node reaches the machine: a loopback address of its own. */
  readonly address: string
  /** The port of that address that leads to the machine's Postgres; null when it is not a database's. */
  readonly postgresPort: number | null
  /** The uuid of the disk mounted at /home/user/workspace, or null. */
  readonly folderId: string | null
  /**
   * Starts a command; resolves when the guest has accepted it.
   * @throws BerthError `vm_unreachable` when the guest does not answer.
   */
  run(command: Command, signal?: AbortSignal): Promise<Channel>
  /**
   * Has the guest listen at this port of its loopback address, from now on and again after each reconnection, and takes
   * what its programs connect there: untrusted bytes. Once more replaces who takes it. While a program of the guest has
   * the port it is tried again.
   */
  listen(port: number, onConnection: (connection: Duplex) => void): void
  /** As `run`, for the other requests that the guest's own program knows (guest/image/main.c). */
  request(fields: readonly string[], signal?: AbortSignal): Promise<Channel>
  /**
   * Connects to a Unix socket of the guest, as root.
   * @throws BerthError `vm_unreachable` when the guest does not answer, or nobody listens there.
   */
  connect(socketPath: string): Promise<Duplex>
  /**
   * Connects to this TCP port of the guest's loopback address, so that what listens there need not be open to anybody else.
   * @throws BerthError `vm_unreachable` when the guest does not answer, `upstream_error` when nothing listens there.
   */
  connectPort(port: number): Promise<Duplex>
}

/** How a machine was obtained: the warm pool, a snapshot, or a cold boot. */
export type TakenFrom = 'existing' | 'pool' | 'snapshot' | 'boot'

/** A machine's directory on disk, whether or not something runs in it. */
export type Resident = { id: string; live: boolean; paused: boolean; folderId: string | null }

/** Reports the progress of a long preparation: 0 to 1, and what it is doing. */
export type Progress = (fraction: number, sentence: string) => void

/** The options of a driver. */
export type ComputeOptions = {
  /** The folder of templates and snapshots, shared by the checkouts on this host. */
  cacheDir: string
  /** The folder of machines and folder disks. */
  dataDir: string
  /** The folder of sockets; short enough for `/vms/<uuid>.qmp` within 107 bytes. */
  runDir: string
  /** The number of warm machines of the default shape. */
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
  /** The number of warm machines in the pool. */
  readonly warm: number
  /** Builds the templates and the snapshot of the default shape when they are missing. Idempotent. */
  prepare(progress: Progress): Promise<void>
  /** Whether machines of this template start without `prepareLater` having anything to do. */
  isPrepared(name: LaterTemplate): boolean
  /**
   * The same as `prepare` for another template and the snapshot of its usual size, after `prepare`; `take` does it too when
   * it must. Machines of other templates do not wait for it.
   * @param progress is told only who begins the work.
   * @throws Error with the end of what the build printed.
   */
  prepareLater(name: LaterTemplate, progress?: Progress): Promise<void>
  /** After a worker's restart: every live machine, reconnected. Machines of the pool stay in the pool. */
  adopt(): Promise<Machine[]>
  /** Starts keeping the pool full. Call it once, after `adopt`. */
  fillPool(): void
  /**
   * A running machine for this spec: the existing one with this id, or one from the pool, or restored from a snapshot,
   * or booted.
   * @param onFailure is told when one did not come up and another try begins.
   * @throws BerthError `capacity_unavailable` when this node cannot start it.
   */
  take(spec: MachineSpec, onFailure?: () => void): Promise<{ machine: Machine; from: TakenFrom }>
  /**
   * Starts a stopped or crashed machine from its own disk, which grows to the size of this spec; the rest as in `take`. Its
   * environment must be pushed again.
   */
  boot(spec: MachineSpec, onFailure?: () => void): Promise<Machine>
  /** The running machine with this id. */
  find(id: string): Machine | undefined
  /** Flushes disks and powers off within 10 s, then kills. The disk stays. Idempotent. */
  stop(id: string): Promise<void>
  /** Kills the machine and removes every file of it except its folder's disk. Idempotent. */
  destroy(id: string): Promise<void>
  /** Saves the memory to a file and ends QEMU. */
  pause(id: string): Promise<void>
  /**
   * Resumes a paused machine exactly where it was.
   * @throws BerthError `invalid_transition` when that is no longer possible (another QEMU version, a changed disk):
   * boot it instead.
   */
  resume(spec: MachineSpec): Promise<Machine>
  /** Every machine on disk, except those of the pool. */
  residents(): Promise<Resident[]>
  /** The uuid of a new, empty folder disk. */
  createFolder(): Promise<string>
  /**
   * Copies a folder's disk to a file of this host, for a backup. A machine that has it mounted is paused meanwhile, so
   * that the copy is consistent.
   * @returns false when there is no such disk.
   */
  copyFolder(folderId: string, to: string): Promise<boolean>
  /**
   * Makes the folder's disk of a running machine as large as this, with the file system on it; it never shrinks. A
   * machine that boots from it later has the size too.
   * @throws BerthError vm_unreachable when the machine does not run.
   */
  growFolder(id: string, sizeMb: number): Promise<void>
  /** Removes a folder's disk. Idempotent. The machine that uses it must be gone. */
  removeFolder(folderId: string): Promise<void>
  /**
   * Stores a stopped machine's disk as a self-contained template, independent of the machine and of `base`.
   * @throws Error when the machine is running, or the disk cannot be copied; then nothing is left behind.
   */
  keepTemplate(id: string, templateId: string): Promise<{ sizeBytes: number }>
  /** Removes such a template. Idempotent. No machine may be left that was made from it. */
  removeTemplate(templateId: string): Promise<void>
  /**
   * Called when the worker stops: connections are dropped, and the machines of VMs continue. Those of the pool are
   * ended, because no VM uses them; `keepPool` leaves them to the next worker, as a kill would.
   */
  close(options?: { keepPool?: boolean }): Promise<void>
}
