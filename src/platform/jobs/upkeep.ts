/**
 * Work that keeps a noun in order without anybody asking: declared beside the noun, listed in src/resources/upkeep.ts, and
 * done by workers as often as it says. Several workers may do it at once, and any of them may die at it.
 */
import type { Background } from '#src/platform/services.ts'

/** What a worker does again and again. */
export type Upkeep<Node extends string | null = string | null> = {
  /** So many seconds after one another, at most a minute; or a cron expression. */
  readonly every: number | string
  /** What the log calls it, such as "ending stranded builds". */
  readonly doing: string
  /** @param node the node of this worker, which is certainly alive; null for a worker without VMs. */
  readonly work: (services: Background, node: Node) => Promise<unknown>
}

/** What each worker with VMs does for its own node. */
export type NodeUpkeep = Upkeep<string>

/** Records that go by themselves; this is looked at every hour. */
export type Retention = {
  /** What goes, as docs/limits.md says it. */
  readonly what: string
  /** When, such as "after 30 days, or when the schedule has 1,000 newer ones". */
  readonly until: string
  readonly forget: (services: Background) => Promise<unknown>
}

/** The cron expression of an interval. */
export function cronOf(every: Upkeep['every']): string {
  if (typeof every === 'string') return every
  return every === 60 ? '* * * * *' : `*/${every} * * * * *`
}
