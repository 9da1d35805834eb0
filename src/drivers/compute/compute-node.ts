/** What every part of the driver knows about this node. */
import type { Duplex } from 'node:stream'
import type { Logger } from 'pino'
import type { Acceleration } from './qemu/acceleration.ts'
import type { MachineUsers } from './qemu/machine-users.ts'
import type { Roots } from './places.ts'
import type { Template } from './templates.ts'
import type { TemplateName } from './templates/names.ts'

/** This node, prepared. */
export type ComputeNode = {
  roots: Roots
  /** The system users of machines; null when Berth is not root, and machines run as its own user. */
  users: MachineUsers | null
  log: Logger
  acceleration: Acceleration
  qemuVersion: string
  /** Those that the current recipes make; all but `base` may not be built yet. */
  templates: Record<TemplateName, Template>
  onEgress: (id: string, connection: Duplex) => void
}
