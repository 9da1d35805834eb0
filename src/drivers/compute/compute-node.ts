/** What every part of the driver knows of this node. */
import type { Duplex } from 'node:stream'
import type { Logger } from 'pino'
import type { Acceleration } from './acceleration.ts'
import type { Roots } from './places.ts'
import type { QemuUser } from './qemu.ts'
import type { Template } from './templates.ts'

/** This node, prepared. */
export type ComputeNode = {
  roots: Roots
  user: QemuUser
  log: Logger
  acceleration: Acceleration
  qemuVersion: string
  template: Template
  onEgress: (id: string, connection: Duplex) => void
}
