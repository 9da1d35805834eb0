/**
 * Reads simple requests: GET and HEAD over HTTP/1.1 without a body, whole in one piece and strictly as the standard writes them,
 * which most requests are. Whatever is not so is not judged here: Node's server reads it, from its first byte on.
 */

/** A simple request; headers are names and values in turn, as they came. */
export class SimpleRequest {
  readonly method: 'GET' | 'HEAD'
  readonly url: string
  readonly rawHeaders: readonly string[]
  /** It has no body that could be missing. */
  readonly complete = true

  constructor(method: 'GET' | 'HEAD', url: string, rawHeaders: readonly string[]) {
    this.method = method
    this.url = url
    this.rawHeaders = rawHeaders
  }

  /** What we look at ourselves. */
  get headers(): { accept: string | undefined } {
    const { rawHeaders } = this
    const at = rawHeaders.findIndex((name, index) => index % 2 === 0 && name.toLowerCase() === 'accept')
    return { accept: at < 0 ? undefined : rawHeaders[at + 1] }
  }
}

const pieceBytesMax = 8 * 1024
const ending = '\r\n\r\n'
const version = ' HTTP/1.1'
const tokenPattern = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/
/** With these, a request is more than simple. */
const special = new Set(['content-length', 'transfer-encoding', 'upgrade', 'expect'])

/** The requests of one connection: clients send the same headers again and again, and those are read once. */
export class SimpleReader {
  #lines = ''
  #headers: readonly string[] = []

  /** Reads a piece; null when it is anything but exactly one simple request. */
  read(piece: Buffer): SimpleRequest | null {
    if (piece.length > pieceBytesMax) return null
    const text = piece.toString('latin1')
    if (text.indexOf(ending) !== text.length - ending.length) return null
    const method = text.startsWith('GET /') ? 'GET' : text.startsWith('HEAD /') ? 'HEAD' : null
    if (method === null) return null
    const lineEnd = text.indexOf('\r\n')
    const urlEnd = lineEnd - version.length
    if (!text.startsWith(version, urlEnd) || !isVisible(text, method.length + 1, urlEnd)) return null
    const lines = text.slice(lineEnd + 2, -2)
    if (lines !== this.#lines) {
      const headers = readLines(lines)
      if (!headers) return null
      this.#lines = lines
      this.#headers = headers
    }
    return new SimpleRequest(method, text.slice(method.length + 1, urlEnd), this.#headers)
  }
}

/** Whether these characters are all of ASCII, and none is a space or a control; and there is one. */
function isVisible(text: string, from: number, to: number): boolean {
  for (let at = from; at < to; at++) {
    const code = text.charCodeAt(at)
    if (code <= 0x20 || code >= 0x7f) return false
  }
  return to > from
}

/** Names and values in turn; null when a line is not as it should be, or says that this is no simple request. */
function readLines(lines: string): string[] | null {
  const headers: string[] = []
  for (let at = 0; at < lines.length; ) {
    const end = lines.indexOf('\r\n', at)
    const colon = lines.indexOf(':', at)
    if (end < 0 || colon < 0 || colon > end) return null
    const name = lines.slice(at, colon)
    const value = readValue(lines, colon + 1, end)
    if (value === null || !tokenPattern.test(name)) return null
    const lower = name.toLowerCase()
    if (special.has(lower) || (lower === 'connection' && value.toLowerCase() !== 'keep-alive')) return null
    headers.push(name, value)
    at = end + 2
  }
  return headers
}

/** A value without the blanks around it; null when it has a control character. */
function readValue(lines: string, from: number, to: number): string | null {
  let [begin, end] = [from, to]
  while (begin < end && isBlank(lines.charCodeAt(begin))) begin++
  while (end > begin && isBlank(lines.charCodeAt(end - 1))) end--
  for (let at = begin; at < end; at++) {
    const code = lines.charCodeAt(at)
    if ((code < 0x20 && code !== 0x09) || code === 0x7f) return null
  }
  return lines.slice(begin, end)
}

function isBlank(code: number): boolean {
  return code === 0x20 || code === 0x09
}
