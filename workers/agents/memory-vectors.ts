/** Makes the vectors of memories, where the operator has chosen a model for them. */
import { memoryLimits } from '#src/platform/limits/memories.ts'
import { log } from '#src/platform/log.ts'
import { beforeClose, type Background } from '#src/platform/services.ts'
import { memoryTopic } from '#src/resources/agents/memories/events.ts'
import { memoryModel } from '#src/resources/agents/memories/model.ts'
import { findSpacesWithoutVectors, makeVectors } from '#src/resources/agents/memories/vectors.ts'
import { keepLookout } from './lookouts.ts'

/**
 * Starts doing so, until the services are closed; does nothing without a model. A few spaces at a time in which something
 * changed, and beside them, one after the other, those for which there is more to do.
 */
export function keepMemoryVectors(services: Background): void {
  const model = memoryModel(services.config)
  if (!model) return
  const stopping = new AbortController()
  beforeClose(services.db, async () => stopping.abort())
  const heard = new Set<string>()
  let atWork = 0
  let isLooking = false

  const serveHeard = async (): Promise<void> => {
    if (atWork >= memoryLimits.spacesAtOnce) return
    atWork += 1
    try {
      for (const id of heard) {
        heard.delete(id)
        for (let turn = 0; turn < memoryLimits.turnsPerChange && !stopping.signal.aborted; turn++)
          if ((await makeVectors(services, model, id, stopping.signal)) !== 'more') break
      }
    } finally {
      atWork -= 1
    }
  }
  /** A turn for a space of each organization, again and again while there is something to do. */
  const lookAround = async (): Promise<void> => {
    for (let round = 0; round < memoryLimits.roundsPerLook; round++) {
      const ids = await findSpacesWithoutVectors(services.db, model)
      if (ids.length === 0) return
      for (const id of ids) {
        if (stopping.signal.aborted) return
        await makeVectors(services, model, id, stopping.signal)
      }
    }
  }
  const unlessStopped = (error: Error): void => {
    if (!stopping.signal.aborted) throw error
    log.debug('vectors of memories are left to the next worker')
  }

  keepLookout(services, {
    topic: memoryTopic,
    everySeconds: memoryLimits.vectorLookSeconds,
    async hear(id) {
      if (heard.size < memoryLimits.heardMax) heard.add(id)
      await serveHeard().catch(unlessStopped)
    },
    async look() {
      if (isLooking) return
      isLooking = true
      await lookAround()
        .catch(unlessStopped)
        .finally(() => (isLooking = false))
    },
    failure: 'vectors of memories wait for the next look',
  })
}
