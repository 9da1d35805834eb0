/**
 * Delivers webhooks. What is due is claimed from the table whenever something was added or a second has passed; nothing is
 * kept in memory but what is under way.
 */
import { createWebhookPoster, type WebhookPoster } from '#src/drivers/webhook-posts.ts'
import { now, nowMs } from '#src/platform/clock.ts'
import { encodeId } from '#src/platform/ids.ts'
import { log } from '#src/platform/log.ts'
import { createMasker } from '#src/platform/masking.ts'
import { patiently } from '#src/platform/patience.ts'
import { standardSignatures } from '#src/platform/secrets/webhook-signatures.ts'
import { beforeClose, type Background } from '#src/platform/services.ts'
import { storableText } from '#src/platform/texts.ts'
import { webhooksTopic } from '#src/resources/infra/webhooks/emit.ts'
import { webhookLimits } from '#src/resources/infra/webhooks/limits.ts'
import {
  claimDeliveries,
  recordAttempt,
  releaseDelivery,
  type ClaimedDelivery,
} from '#src/resources/infra/webhooks/queue.ts'
import { bodyOf, openSecret } from '#src/resources/infra/webhooks/rows.ts'

/** Starts delivering, until the services are closed: attempts that are under way then are made again by another worker. */
export function deliverWebhooks(services: Background): void {
  const { db, pubsub, config } = services
  const { atOnce, lookSeconds } = webhookLimits
  const poster = createWebhookPoster(config, { atOnce })
  const stopping = new AbortController()
  const underWay = new Set<Promise<void>>()
  let looking: Promise<void> | null = null
  let isDue = false

  const begin = (claimed: ClaimedDelivery): void => {
    const run = deliver(services, poster, claimed, stopping.signal)
      .catch((error: Error) => log.warn({ reason: error.message }, 'an attempt of a webhook is made again'))
      .finally(() => {
        underWay.delete(run)
        look()
      })
    underWay.add(run)
  }
  const lookNow = async (): Promise<void> => {
    while (isDue && !stopping.signal.aborted) {
      isDue = false
      const free = atOnce - underWay.size
      const claimed = free > 0 ? await claimDeliveries(db, free) : []
      claimed.forEach(begin)
    }
  }
  const look = (): void => {
    isDue = true
    if (stopping.signal.aborted) return
    looking ??= lookNow()
      .catch((error: Error) => log.warn({ reason: error.message }, 'looking for webhooks failed this time'))
      .finally(() => {
        looking = null
        if (isDue) look() // asked for while the last look ended
      })
  }
  pubsub.listen(webhooksTopic, look)
  const timer = setInterval(look, lookSeconds * 1000)
  look()
  beforeClose(db, async () => {
    stopping.abort()
    clearInterval(timer)
    await looking
    await Promise.all(underWay)
    await poster.close()
  })
}

/** Makes one attempt, and records it. */
async function deliver(
  { db, sealer }: Background,
  poster: WebhookPoster,
  claimed: ClaimedDelivery,
  stopping: AbortSignal,
): Promise<void> {
  const { url, event } = claimed
  const [startedAt, startMs] = [now(), performance.now()]
  const [id, body, atSeconds] = [encodeId('webhookEvent', event.id), bodyOf(event), Math.floor(nowMs() / 1000)]
  try {
    const secrets = secretsOf(sealer, claimed)
    const { answer, ...result } = secrets
      ? await poster.post({
          url,
          body,
          headers: {
            'content-type': 'application/json',
            'user-agent': 'Berth',
            'webhook-id': id,
            'webhook-timestamp': String(atSeconds),
            'webhook-signature': standardSignatures(secrets, { id, atSeconds, body }),
          },
          limitMs: webhookLimits.attemptSeconds * 1000,
          answerBytes: webhookLimits.answerBytes,
          signal: stopping,
        })
      : unsigned
    const shown = answer ? storableText(createMasker(secrets ?? []).text(answer)) : null
    const durationMs = Math.round(performance.now() - startMs)
    await patiently(() => recordAttempt(db, claimed, { ...result, answer: shown, startedAt, durationMs }), stopping)
  } catch (error) {
    if (!stopping.aborted) throw error
    await releaseDelivery(db, claimed)
  }
}

const unsigned = {
  responseStatus: null,
  problem: 'Its secret cannot be read any more, so nothing was sent. Rotate it.',
  answer: null,
}

/** The secrets that sign now; undefined when they cannot be opened. */
function secretsOf(
  sealer: Background['sealer'],
  { endpointId, sealedSecret, sealedPreviousSecret }: ClaimedDelivery,
): string[] | undefined {
  try {
    const sealed = [sealedSecret, ...(sealedPreviousSecret ? [sealedPreviousSecret] : [])]
    return sealed.map((one) => openSecret(sealer, endpointId, one))
  } catch (error) {
    log.error({ err: error, endpoint: encodeId('webhookEndpoint', endpointId) }, 'the secret of a webhook endpoint')
    return undefined
  }
}
