/**
 * Masks secrets in text and in streams of bytes, also across chunks: what may be the beginning of a secret is held back
 * until the rest arrives. Builds' logs, sessions' logs and responses of secrets' hosts are all masked by the same
 * rules.
 */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { createAutomaton, createAutomatonInSteps, type Automaton } from './masking/automata.ts'
import { BerthError } from './errors.ts'

/** The text that replaces a secret; overlapping secrets are replaced by one. */
const mask = Buffer.from('***')
/** A single line of a multi-line secret is masked if it is at least this long. Unit: characters. */
const lineCharactersMin = 8
/** A secret up to this size is also found in the encodings below, bytes; a longer one is not a password for a URL. */
const packedSecretBytesMax = 2 * 1024
/** The maximum size of all patterns together, bytes: their automaton takes some forty times as much memory. */
const hiddenBytesMax = 1536 * 1024
/** A text is searched in pieces of this size, so that the event loop is not blocked. Unit: bytes. */
const bytesAtOnce = 256 * 1024
/** The fixed part of a secret within base64 is searched if it is at least this long. Unit: characters. */
const base64CharactersMin = 8
/** Where tools break lines of base64. */
const base64Columns = [76, 64] as const

/** The masking of one stream. */
export type Masking = {
  /** Adds bytes; returns what may be shown now. */
  push(bytes: Buffer): Buffer
  /** Ends the stream: returns what was held back; another stream may begin. */
  end(): Buffer
  /**
   * Where another masker of the same secrets can continue: how many of the last bytes it needs again, and in which
   * state.
   */
  resumption(): { heldBytes: number; state: number }
}

/**
 * How secrets are masked. `keepsLength`: each byte of a secret becomes a star, for when lengths were announced before.
 * `from`: the state of a resumption.
 */
export type MaskingOptions = { keepsLength?: boolean; from?: number }

const nothingHeld = { heldBytes: 0, state: 0 }

/** Masks the same secrets in many texts and streams. `longText` yields to the event loop during megabytes of text. `sizeBytes`: of all patterns. */
export type Masker = {
  sizeBytes: number
  stream(options?: MaskingOptions): Masking
  text(text: string): string
  longText(text: string): Promise<string>
}

/** Masks everything, for when the secrets cannot be read. */
export const blankMasker: Masker = {
  sizeBytes: 0,
  stream: () => ({ push: () => Buffer.alloc(0), end: () => Buffer.alloc(0), resumption: () => nothingHeld }),
  text: (text) => (text === '' ? '' : mask.toString()),
  longText: async (text) => (text === '' ? '' : mask.toString()),
}

/** Masks nothing. */
export const noMasker: Masker = {
  sizeBytes: 0,
  stream: () => ({ push: (bytes) => bytes, end: () => Buffer.alloc(0), resumption: () => nothingHeld }),
  text: (text) => text,
  longText: async (text) => text,
}

/**
 * Makes a masker of secrets, which are texts. They are found as they are, line by line, and in the encodings of JSON,
 * URLs and base64.
 */
export function createMasker(secrets: readonly string[]): Masker {
  const hidden = hiddenOf(secrets)
  return hidden.length === 0 ? noMasker : maskerOf(createAutomaton(hidden), sizeOf(hidden))
}

/**
 * The same for many secrets: built in steps, so that the event loop is not blocked.
 * @throws BerthError invalid_request when they are too many.
 */
export async function prepareMasker(secrets: readonly string[]): Promise<Masker> {
  const hidden = hiddenOf(secrets)
  if (sizeOf(hidden) > hiddenBytesMax)
    throw new BerthError(
      'invalid_request',
      `These are more secrets than can be masked together: with all their encodings they take more than ${hiddenBytesMax / 1024} KiB. Use fewer vaults, or shorter secrets.`,
    )
  return hidden.length === 0 ? noMasker : maskerOf(await createAutomatonInSteps(hidden), sizeOf(hidden))
}

function hiddenOf(secrets: readonly string[]): Buffer[] {
  return [...new Set(secrets.flatMap(formsOf))].filter(Boolean).map((form) => Buffer.from(form))
}

function sizeOf(hidden: readonly Buffer[]): number {
  return hidden.reduce((sum, { length }) => sum + length, 0)
}

function maskerOf(automaton: Automaton, sizeBytes: number): Masker {
  return {
    sizeBytes,
    stream: (options = {}) => createStream(automaton, options),
    text: (text) => {
      const bytes = Buffer.from(text)
      const masking = createStream(automaton, {})
      return asText(text, bytes, [masking.push(bytes), masking.end()])
    },
    async longText(text) {
      const bytes = Buffer.from(text)
      const masking = createStream(automaton, {})
      const shown: Buffer[] = []
      for (let at = 0; at < bytes.length; at += bytesAtOnce) {
        if (at > 0) await nextTurn()
        shown.push(masking.push(bytes.subarray(at, at + bytesAtOnce)))
      }
      return asText(text, bytes, [...shown, masking.end()])
    },
  }
}

/** Whether something in these bytes would be masked. Yields to the event loop. */
export async function hasSecrets(masker: Masker, bytes: Buffer): Promise<boolean> {
  const masking = masker.stream()
  const shown: Buffer[] = []
  for (let at = 0; at < bytes.length; at += bytesAtOnce) {
    if (at > 0) await nextTurn()
    shown.push(masking.push(bytes.subarray(at, at + bytesAtOnce)))
  }
  return !Buffer.concat([...shown, masking.end()]).equals(bytes)
}

function asText(before: string, bytes: Buffer, shown: readonly Buffer[]): string {
  const all = Buffer.concat(shown)
  return all.equals(bytes) ? before : all.toString('utf8')
}

function createStream(automaton: Automaton, { keepsLength = false, from = 0 }: MaskingOptions): Masking {
  let state = automaton.isState(from) ? from : 0
  let held: Buffer = Buffer.alloc(0)
  /**
   * Positions of secrets in the held bytes, in order, not overlapping. A negative start is in bytes that were already
   * masked.
   */
  let found: { start: number; end: number }[] = []

  /** Returns everything before this position, with the mask for secrets that begin before it. */
  const showTo = (place: number): Buffer => {
    if (found.length === 0 && place === held.length) {
      const shown = held
      held = Buffer.alloc(0)
      return shown
    }
    const shown: Buffer[] = []
    let at = 0
    for (const { start, end } of found) {
      if (start >= place) break
      if (start > at) shown.push(held.subarray(at, start))
      if (keepsLength) shown.push(Buffer.alloc(end - Math.max(start, at), '*'))
      else if (start >= at) shown.push(mask)
      at = end
    }
    if (place > at) shown.push(held.subarray(at, place))
    const gone = Math.max(at, place)
    held = held.subarray(gone)
    found = found
      .filter(({ start }) => start >= place)
      .map(({ start, end }) => ({ start: start - gone, end: end - gone }))
    return Buffer.concat(shown)
  }
  return {
    push(bytes) {
      const first = held.length
      held = first === 0 ? bytes : Buffer.concat([held, bytes])
      for (let at = first; at < held.length; at++) {
        state = automaton.next(state, held[at]!) // inside: at is below length
        const length = automaton.longest[state]!
        if (length === 0) continue
        const place = { start: at + 1 - length, end: at + 1 }
        for (let last = found.at(-1); last && last.end > place.start; last = found.at(-1))
          place.start = Math.min(place.start, found.pop()!.start)
        found.push(place)
      }
      return showTo(held.length - automaton.waiting[state]!)
    },
    end() {
      state = 0
      return showTo(held.length)
    },
    // What is held is the end of the state's text; what of that text is before it was masked, as the end of a secret.
    resumption: () => ({ heldBytes: held.length, state: automaton.before(state, held.length) }),
  }
}

/** The encodings of a secret. */
function formsOf(secret: string): string[] {
  const lines = secret
    .split(/\r?\n/)
    .map((line) => line.trim())
    .filter((line) => line.length >= lineCharactersMin)
  if (Buffer.byteLength(secret) > packedSecretBytesMax) return [secret, ...lines]
  return [
    secret,
    ...lines,
    JSON.stringify(secret).slice(1, -1),
    ...urlForms(secret),
    ...base64Forms(Buffer.from(secret)),
  ]
}

/** The encodings of `encodeURIComponent` and of forms, also with lower-case escapes. */
function urlForms(secret: string): string[] {
  const component = encodeURIComponent(secret.toWellFormed())
  const form = component
    .replaceAll('%20', '+')
    .replace(/[!'()~]/g, (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`)
  return [component, form].flatMap((text) => [text, text.replace(/%[0-9A-F]{2}/g, (escape) => escape.toLowerCase())])
}

/**
 * What the base64 of data with the secret in it must contain. A character is six bits, so there are three variants, by
 * the number of bytes before the secret; the characters at its ends depend on the bytes around it.
 */
function base64Forms(secret: Buffer): string[] {
  const cores = [0, 1, 2].map((before) => {
    const text = Buffer.concat([Buffer.alloc(before), secret]).toString('base64')
    return text.slice(Math.ceil((before * 8) / 6), Math.floor(((before + secret.length) * 8) / 6))
  })
  const whole = cores[0]! // there are three
  const broken = base64Columns.flatMap((columns) =>
    Array.from({ length: Math.ceil(whole.length / columns) }, (_, line) =>
      whole.slice(line * columns, (line + 1) * columns),
    ),
  )
  const padded = secret.toString('base64') // of the secret alone, whose end is certain too
  const standard = [padded, padded.replaceAll('=', ''), ...cores, ...broken].filter(
    (form) => form.length >= base64CharactersMin,
  )
  return standard.flatMap((form) => [form, form.replaceAll('+', '-').replaceAll('/', '_')])
}
