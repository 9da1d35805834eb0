/** Masks secrets in JSON, in steps, so that the event loop is not blocked: a value may have many texts. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { noMasker, type Masker } from '../masking.ts'

const stepMs = 8

/** A JSON value without secrets. @param whole whether to mask the names of fields and type tags too. */
export async function maskedValue(masker: Masker, value: unknown, whole: boolean): Promise<unknown> {
  return masker === noMasker ? value : masked(masker, value, whole, { untilMs: performance.now() + stepMs })
}

async function masked(masker: Masker, value: unknown, whole: boolean, step: { untilMs: number }): Promise<unknown> {
  if (performance.now() >= step.untilMs) {
    await nextTurn()
    step.untilMs = performance.now() + stepMs
  }
  if (typeof value === 'string') return masker.longText(value)
  if (Array.isArray(value)) {
    const all: unknown[] = []
    for (const one of value) all.push(await masked(masker, one, whole, step))
    return all
  }
  if (typeof value !== 'object' || value === null) return value
  const all: [string, unknown][] = []
  const isPacked = 'type' in value && value.type === 'base64' // an image's bytes, in which a secret cannot be read
  for (const [key, one] of Object.entries(value)) {
    const keeps = !whole && (key === 'type' || key === 'media_type' || (key === 'data' && isPacked))
    all.push([whole ? await masker.longText(key) : key, keeps ? one : await masked(masker, one, whole, step)])
  }
  return Object.fromEntries(all)
}
