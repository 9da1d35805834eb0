/** Secrets taken out of JSON. */
import { noMasker, type Masker } from '#src/platform/masking.ts'

/** A JSON value with no secret in it. @param whole also in the names of fields and the words by which kinds are told apart. */
export async function maskedValue(masker: Masker, value: unknown, whole: boolean): Promise<unknown> {
  if (masker === noMasker) return value
  if (typeof value === 'string') return masker.longText(value)
  if (Array.isArray(value)) {
    const all: unknown[] = []
    for (const one of value) all.push(await maskedValue(masker, one, whole))
    return all
  }
  if (typeof value !== 'object' || value === null) return value
  const all: [string, unknown][] = []
  const isPacked = 'type' in value && value.type === 'base64' // an image's bytes, in which a secret cannot be read
  for (const [key, one] of Object.entries(value)) {
    const keeps = !whole && (key === 'type' || key === 'media_type' || (key === 'data' && isPacked))
    all.push([whole ? await masker.longText(key) : key, keeps ? one : await maskedValue(masker, one, whole)])
  }
  return Object.fromEntries(all)
}
