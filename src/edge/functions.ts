/**
 * The way to functions: where the instance of each is stays in memory until it changes, so that those that run are reached
 * while Postgres is away. One that sleeps is started, once for all who ask; and those in use are reported, so that they
 * stay awake.
 */
import type { Duplex } from 'node:stream'
import { setTimeout as pause } from 'node:timers/promises'
import { createNoticedCache } from '#src/platform/caches/noticed-cache.ts'
import { BerthError } from '#src/platform/errors.ts'
import { functionLimits } from '#src/platform/limits/functions.ts'
import { log } from '#src/platform/log.ts'
import type { Services } from '#src/platform/services.ts'
import { functionTopic } from '#src/resources/infra/functions/jobs.ts'
import { recordFunctionUse } from '#src/resources/infra/functions/sleep.ts'
import { findTarget, wakeFunction, type FunctionTarget } from '#src/resources/infra/functions/waking.ts'
import type { ReachVm } from './http/vms.ts'
import { TargetRefusal } from './http/targets.ts'
import { createWaking } from './waking.ts'

/** The functions of the edge. */
export type EdgeFunctions = {
  /**
   * Where a function answers; one that does not run is started, and waited for.
   * @throws TargetRefusal
   */
  locate(functionId: string): Promise<FunctionTarget>
  /** Opens a connection to it. @throws TargetRefusal; BerthError as ReachVm */
  reach(functionId: string): Promise<Duplex>
  /** Calls back when requests for a function may have to go elsewhere than before; with null for all of them. */
  onMoved(then: (functionId: string | null) => void): void
  /** Reports these functions as in use every few seconds. @param inUse those that were asked since it was called last, or answer now */
  reportUse(inUse: () => Iterable<string>): void
  close(): void
}

const rememberedMs = 3_600_000
/** A program that has just ended, or a VM that has, is found out so soon. */
const againMs = 200
const triesMax = 10
const noRoomSeconds = 15

/** Opens them. */
export function openFunctions(services: Services, reachVm: ReachVm): EdgeFunctions {
  const { db, pubsub } = services
  const { targetsMax: entriesMax, activityMs } = functionLimits
  const targets = createNoticedCache<FunctionTarget>(pubsub, { topic: functionTopic, entriesMax, rememberedMs })
  const wake = createWaking((functionId) => wakeFunction(services, functionId))
  let reporting: NodeJS.Timeout | undefined

  async function locate(functionId: string): Promise<FunctionTarget> {
    const known = targets.find(functionId)
    if (known) return known.value
    try {
      const running = await targets.read(functionId, () => findTarget(db, functionId))
      return running ?? (await wake(functionId))
    } catch (error) {
      const last = error instanceof BerthError ? undefined : targets.findUnheard(functionId)
      if (last) return last.value
      throw refusalOf(error)
    }
  }

  return {
    locate,
    async reach(functionId) {
      for (let tries = 1; ; tries++) {
        const target = await locate(functionId)
        try {
          return await reachVm(target.vmId, target.port)
        } catch (error) {
          if (!isPassing(error) || tries >= triesMax) throw error
        }
        await pause(againMs) // what ended is noted meanwhile
      }
    },
    onMoved(then) {
      pubsub.listen(functionTopic, then)
    },
    reportUse(inUse) {
      reporting = setInterval(() => {
        const ids = [...inUse()]
        if (ids.length === 0) return
        recordFunctionUse(db, ids).catch((error: unknown) =>
          log.warn({ err: error }, 'the use of functions could not be recorded'),
        )
      }, activityMs).unref()
    },
    close: () => clearInterval(reporting),
  }
}

/** Whether an instance could not be reached for a reason that its function finds out soon. */
function isPassing(error: unknown): boolean {
  if (error instanceof TargetRefusal) return true
  return error instanceof BerthError && (error.code === 'vm_unreachable' || error.code === 'upstream_error')
}

/** What somebody outside is told of a function that did not start: nothing of its organization. */
function refusalOf(error: unknown): unknown {
  if (!(error instanceof BerthError)) return error
  const { retryAfterSeconds } = error.details
  if (error.code === 'not_found') return new TargetRefusal('gone', 'The function behind this address is gone.')
  if (error.code === 'service_unavailable')
    return new TargetRefusal('failing', error.message, Number(retryAfterSeconds ?? 1))
  return new TargetRefusal('busy', 'There is no room to start the function right now.', noRoomSeconds)
}
