/** Limits of looking into a VM: what it uses, and what listens in it. In the platform, because the driver reads them too. */
export const vmLookLimits = {
  portsMax: 256, // that are listed
  kernelLogLength: 64 * 1024, // characters of what a kernel printed last
  looksPerMinute: 240, // into one VM, besides those for who watches it
  perOperation: 30, // looks of one GraphQL operation, one after the other
  everyMs: 2_000, // between two readings of a VM that somebody watches
  silentReadingsMax: 5, // that fail one after the other: then watching ends
  watchedPerOrganization: 50, // VMs at once, in each process; each is read once for all who watch it
} as const
