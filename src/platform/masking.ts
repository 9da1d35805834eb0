/**
 * Masks secrets in text and in streams of bytes, also across chunks: what may be the beginning of a secret is held back
 * until the rest arrives. Builds' logs, sessions' logs and what guarded hosts answer are masked by it, all by the same rule.
 */
import { setImmediate as letOthersGoOn } from 'node:timers/promises'
import { createAutomaton, createAutomatonInSteps, type Automaton } from './masking/automata.ts'
import { BerthError } from './errors.ts'

/** What a secret becomes; secrets that overlap become one. */
const mask = Buffer.from('***')
/** A line of a secret of several lines is masked by itself when it is at least this long. Unit: characters. */
const lineCharactersMin = 8
/** A secret up to this size is also found packed as below, bytes; a longer one is no password that is put into a URL. */
const packedSecretBytesMax = 2 * 1024
/** The most that all patterns may take together, bytes: their automaton takes some forty times as much memory. */
const hiddenBytesMax = 1536 * 1024
/** A text is looked through in pieces of this size, so that others may go on in between. Unit: bytes. */
const bytesAtOnce = 256 * 1024
/** What is certain of a secret within base64 must be at least this long to be looked for. Unit: characters. */
const base64CharactersMin = 8
/** Where tools break lines of base64. */
const base64Columns = [76, 64] as const

/** A stream's masking. */
export type Masking = {
  /** What may be shown now. */
  push(bytes: Buffer): Buffer
  /** The stream is over: what waited may be shown, and another one may begin. */
  end(): Buffer
  /** Where another masker of the same secrets can continue: how many of the last bytes it must be given again, and in which state. */
  resumption(): { heldBytes: number; state: number }
}

/** How secrets are masked. `keepsLength`: each byte of a secret becomes a star, for where lengths were told before. `from`: the state of a resumption. */
export type MaskingOptions = { keepsLength?: boolean; from?: number }

const nothingHeld = { heldBytes: 0, state: 0 }

/** Masks the same secrets in many texts and streams. `longText` yields to the event loop during megabytes of text. `sizeBytes`: of all patterns. */
export type Masker = {
  sizeBytes: number
  stream(options?: MaskingOptions): Masking
  text(text: string): string
  longText(text: string): Promise<string>
}

/** Everything is masked: for where the secrets cannot be read. */
export const blankMasker: Masker = {
  sizeBytes: 0,
  stream: () => ({ push: () => Buffer.alloc(0), end: () => Buffer.alloc(0), resumption: () => nothingHeld }),
  text: (text) => (text === '' ? '' : mask.toString()),
  longText: async (text) => (text === '' ? '' : mask.toString()),
}

/** Nothing is masked. */
export const noMasker: Masker = {
  sizeBytes: 0,
  stream: () => ({ push: (bytes) => bytes, end: () => Buffer.alloc(0), resumption: () => nothingHeld }),
  text: (text) => text,
  longText: async (text) => text,
}

/**
 * Makes a masker of secrets, which are texts. They are found as they are, line by line, and as JSON, URLs and base64
 * write them.
 */
export function createMasker(secrets: readonly string[]): Masker {
  const hidden = hiddenOf(secrets)
  return hidden.length === 0 ? noMasker : maskerOf(createAutomaton(hidden), sizeOf(hidden))
}

/** The same for many secrets: the event loop goes on while it is made. @throws BerthError invalid_request when they are too many. */
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
        if (at > 0) await letOthersGoOn()
        shown.push(masking.push(bytes.subarray(at, at + bytesAtOnce)))
      }
      return asText(text, bytes, [...shown, masking.end()])
    },
  }
}

function asText(before: string, bytes: Buffer, shown: readonly Buffer[]): string {
  const all = Buffer.concat(shown)
  return all.equals(bytes) ? before : all.toString('utf8')
}

function createStream(automaton: Automaton, { keepsLength = false, from = 0 }: MaskingOptions): Masking {
  let state = automaton.isState(from) ? from : 0
  let held: Buffer = Buffer.alloc(0)
  /** Places of secrets in what is held, in order; none overlaps the next. A beginning below zero is in what was masked already. */
  let found: { start: number; end: number }[] = []

  /** Shows everything before this place, and of a secret that begins before it the mask. */
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

/** How a secret may be written. */
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

/** As `encodeURIComponent` writes it, as forms do, and with small letters in its escapes. */
function urlForms(secret: string): string[] {
  const component = encodeURIComponent(secret.toWellFormed())
  const form = component
    .replaceAll('%20', '+')
    .replace(/[!'()~]/g, (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`)
  return [component, form].flatMap((text) => [text, text.replace(/%[0-9A-F]{2}/g, (escape) => escape.toLowerCase())])
}

/**
 * What base64 of something that has the secret in it must contain: six bits are a character, so there are three ways, by
 * how many bytes stand before it; the characters at its ends depend on what is beside it.
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
