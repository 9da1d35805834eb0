/** Takes secrets out of a stream of bytes, also when one comes in two pieces: what may be the beginning of one waits for the rest. */

/** What a secret becomes. */
const mask = '***'
/** A line of a secret of several lines is masked by itself when it is at least this long. Unit: characters. */
const lineCharactersMin = 8

/** A stream's masking. */
export type Masking = {
  /** What may be shown now. */
  push(bytes: Buffer): Buffer
  /** The stream is over: what waited may be shown. */
  end(): Buffer
}

/** Makes the masking of one stream. Secrets are texts; a longer one goes before a shorter one that it holds. */
export function createMasking(secrets: readonly string[]): Masking {
  // As latin1 text one byte is one character, so that nothing is cut inside a character.
  const hidden = [...new Set(secrets.flatMap(withLines))].map((secret) => Buffer.from(secret).toString('latin1')).filter(Boolean).sort((a, b) => b.length - a.length)
  if (hidden.length === 0) return { push: (bytes) => bytes, end: () => Buffer.alloc(0) }
  const longest = hidden[0]?.length ?? 0
  const pattern = new RegExp(hidden.map(escaped).join('|'), 'g')
  let held = ''

  /** The first place from which on the text may be the beginning of a secret that goes on. */
  const heldFrom = (text: string, from: number): number => {
    for (let at = Math.max(from, text.length - longest + 1); at < text.length; at++) {
      const rest = text.slice(at)
      if (hidden.some((secret) => secret.length > rest.length && secret.startsWith(rest))) return at
    }
    return text.length
  }
  return {
    push(bytes) {
      const text = held + bytes.toString('latin1')
      let shown = ''
      let at = 0
      let waitsFrom = heldFrom(text, at)
      for (;;) {
        pattern.lastIndex = at
        const match = pattern.exec(text)
        if (!match || match.index >= waitsFrom) break
        shown += text.slice(at, match.index) + mask
        at = match.index + match[0].length
        if (at > waitsFrom) waitsFrom = heldFrom(text, at)
      }
      held = text.slice(waitsFrom)
      return Buffer.from(shown + text.slice(at, waitsFrom), 'latin1')
    },
    end() {
      const rest = held.replaceAll(pattern, mask)
      held = ''
      return Buffer.from(rest, 'latin1')
    },
  }
}

/** The same for a text that is whole. */
export function masked(text: string, secrets: readonly string[]): string {
  const masking = createMasking(secrets)
  return Buffer.concat([masking.push(Buffer.from(text)), masking.end()]).toString('utf8')
}

/** A secret, and its long lines: a tool may indent them. */
function withLines(secret: string): string[] {
  return [secret, ...secret.split(/\r?\n/).map((line) => line.trim()).filter((line) => line.length >= lineCharactersMin)]
}

function escaped(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&')
}
