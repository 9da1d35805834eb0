/** What a node sees when it looks into a VM: what the VM uses, and what listens in it. What a guest says of itself is untrusted. */

/** Ticks of all processors of a guest since it booted: of those that worked, and of all. */
export type ProcessorTicks = { busy: number; all: number }

/**
 * What a VM uses. `processorPercent`: 0 to 100 of all its processors. `load`: of the last minute, as Unix counts it. The disk is that of `/`. The
 * network's bytes are since the guest booted. `ticks` are for the next reading.
 */
export type VmUsage = {
  processorPercent: number
  load: number
  memoryUsedBytes: number
  memoryTotalBytes: number
  diskUsedBytes: number
  diskTotalBytes: number
  receivedBytes: number
  sentBytes: number
  ticks: ProcessorTicks
}

/** A TCP port at which something in a VM listens. The process is null when it ended meanwhile. */
export type ListeningPort = {
  port: number
  address: string
  process: { pid: number; name: string } | null
}

/** The addresses of listeners that a tunnel to a port reaches: it tries 127.0.0.1, then ::1. */
const tunnelled: ReadonlySet<string> = new Set(['127.0.0.1', '0.0.0.0', '::', '::1'])

/** Whether a tunnel to its port reaches what listens at this address. */
export function isTunnelled(address: string): boolean {
  return tunnelled.has(address)
}
