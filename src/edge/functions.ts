/**
 * The way to functions: where the instance of each is stays in memory until it changes, so that those that run are reached
 * while Postgres is away. One that sleeps is started, once for all who ask; and those in use are reported, so that they
 * stay awake.
 */
import type { Duplex } from 'node:stream'
import { setTimeout as pause } from 'node:timers/promises'
import { createBoundedMap } from '#src/platform/caches/bounded-map.ts'
import { createNoticedCache } from '#src/platform/caches/noticed-cache.ts'
import { BerthError } from '#src/platform/errors.ts'
import { functionLimits } from '#src/platform/limits/functions.ts'
import { log } from '#src/platform/log.ts'
import type { Services } from '#src/platform/services.ts'
import { functionTopic } from '#src/resources/infra/functions/jobs.ts'
import { recordFunctionUse } from '#src/resources/infra/functions/sleep.ts'
import { FunctionUnavailable } from '#src/resources/infra/functions/unavailable.ts'
import {
  findStartSeconds,
  findTarget,
  wakeFunction,
  type FunctionTarget,
} from '#src/resources/infra/functions/waking.ts'
import { createReportedUse, type Use } from '#src/platform/caches/reported-use.ts'
import { createWakingTurns } from './functions/turns.ts'
import type { ReachVm } from './http/vms.ts'
import { TargetRefusal, type FunctionRef } from './http/targets.ts'
import { createWaking } from './waking.ts'

/** The functions of the edge. */
export type EdgeFunctions = {
  /** Opens a connection to one; one that does not run is started, and waited for. @throws TargetRefusal; BerthError as ReachVm */
  reach(wanted: FunctionRef): Promise<Duplex>
  /** Calls back when requests for a function may have to go elsewhere than before; with null for all of them. */
  onMoved(then: (functionId: string | null) => void): void
  /** Who uses which; it is reported. */
  use: Use
  close(): void
}

const rememberedMs = 3_600_000
/** A program that has just ended, a VM that has, or a worker that starts again, is found out so soon. */
const againMs = 100
const endedLimitMs = 2_000
const unreachableLimitMs = 10_000
const noRoomSeconds = 15

/** Opens them. */
export function openFunctions(services: Services, reachVm: ReachVm): EdgeFunctions {
  const { db, pubsub } = services
  const { targetsMax: entriesMax, activityMs } = functionLimits
  const targets = createNoticedCache<FunctionTarget>(pubsub, { topic: functionTopic, entriesMax, rememberedMs })
  const inTurn = createWakingTurns()
  const look = (functionId: string): Promise<FunctionTarget | undefined> =>
    targets.read(functionId, () => findTarget(db, functionId))
  const wake = createWaking(async (functionId, organizationId: string) => {
    const startSeconds = await findStartSeconds(db, functionId)
    return inTurn(organizationId, startSeconds, () => wakeFunction(services, functionId, startSeconds))
  })
  const asked = createBoundedMap<string, true>({ entriesMax })
  pubsub.listen(functionTopic, (functionId) => {
    wake.forget(functionId) // another version may start where this one did not
    if (functionId === null || !asked.peek(functionId)) return
    // So that it is known by the time that Postgres is away, whichever notice came last.
    look(functionId).catch((error: unknown) => log.debug({ err: error }, 'a function that changed was not read again'))
  })
  const use = createReportedUse((ids) => {
    recordFunctionUse(db, ids).catch((error: unknown) =>
      log.warn({ err: error }, 'the use of functions could not be recorded'),
    )
  }, activityMs)

  async function locate({ functionId, organizationId }: FunctionRef): Promise<FunctionTarget> {
    const known = targets.find(functionId)
    if (known) return known.value
    asked.set(functionId, true)
    try {
      const running = await look(functionId)
      return running ?? (await wake(functionId, organizationId))
    } catch (error) {
      const isAnswer = error instanceof BerthError || error instanceof TargetRefusal
      const last = isAnswer ? undefined : targets.findUnheard(functionId)
      if (last) return last.value
      throw refusalOf(error)
    }
  }

  return {
    async reach(wanted) {
      for (const sinceMs = performance.now(); ; ) {
        const target = await locate(wanted)
        try {
          return await reachVm(target.vmId, target.port)
        } catch (error) {
          if (performance.now() - sinceMs > passingMs(error)) throw error
        }
        await pause(againMs) // what ended is noted meanwhile
      }
    },
    onMoved(then) {
      pubsub.listen(functionTopic, then)
    },
    use,
    close: () => use.close(),
  }
}

/** How long it is tried again: as long as the function may find out that its program, its VM or its worker has ended. */
function passingMs(error: unknown): number {
  if (error instanceof TargetRefusal) return endedLimitMs
  if (!(error instanceof BerthError)) return 0
  return error.code === 'upstream_error' ? endedLimitMs : error.code === 'vm_unreachable' ? unreachableLimitMs : 0
}

/** What somebody outside is told of a function that did not start: nothing of its organization. */
function refusalOf(error: unknown): unknown {
  if (!(error instanceof BerthError)) return error
  if (error.code === 'not_found') return new TargetRefusal('gone', 'The function behind this address is gone.')
  if (!(error instanceof FunctionUnavailable) || error.why === 'busy')
    return new TargetRefusal(
      'busy',
      'There is no room to start the function right now. Try again in a moment.',
      noRoomSeconds,
    )
  const kinds = { failed: 'crashed', late: 'starting', empty: 'empty' } as const
  return new TargetRefusal(kinds[error.why], error.message, error.retryAfterSeconds)
}
