/** Shapes of texts and of JSON that take longest to read. */

/** As many pieces as fit into so many bytes, each by its place. */
export function filled(bytes: number, piece: (at: number) => string): string {
  const pieces: string[] = []
  for (let at = 0, left = bytes; ; at++) {
    const one = piece(at)
    left -= Buffer.byteLength(one)
    if (left < 0) return pieces.join('')
    pieces.push(one)
  }
}
const repeated = (bytes: number, piece: string) => piece.repeat(Math.floor(bytes / Buffer.byteLength(piece)))
const list = (one: string) => (bytes: number) => `[${one}${repeated(bytes - one.length - 2, `,${one}`)}]`
const nested = (open: string, inside: string, close: string) => (bytes: number) => {
  const depth = Math.floor((bytes - inside.length) / (open.length + close.length))
  return open.repeat(depth) + inside + close.repeat(depth)
}
const text = (piece: string) => (bytes: number) => `"${repeated(bytes - 2, piece)}"`
const object = (entry: (at: number) => string) => (bytes: number) =>
  `{${filled(bytes - 2, (at) => (at === 0 ? entry(0) : `,${entry(at)}`))}}`

/** Shapes of JSON, each of at most so many bytes. */
export const jsonShapes: Readonly<Record<string, (bytes: number) => string>> = {
  'empty lists': list('[]'),
  'empty objects': list('{}'),
  'lists in lists': nested('[', '1', ']'),
  'objects in objects': nested('{"a":', '1', '}'),
  'lists and objects in turn': nested('[{"a":', '1', '}]'),
  'a list that is never closed': (bytes) => '['.repeat(bytes),
  'an object that is never closed': (bytes) => '{"a":'.repeat(Math.floor(bytes / 5)),
  'short texts': list('"a"'),
  'texts that are all different': (bytes) => `[${filled(bytes - 2, (at) => (at === 0 ? '"0"' : `,"${at}"`))}]`,
  'texts of escapes': list('"\\u0041\\n"'),
  'half characters': list('"\\ud800"'),
  'a text of escapes': text('\\u0041'),
  'a text of backslashes': text('\\\\'),
  'a text of quotation marks': text('\\"'),
  'a text of emojis': text('😀'),
  'a text that is never closed': (bytes) => `"${'a'.repeat(bytes - 1)}`,
  'small numbers': list('1'),
  'large numbers': list('9007199254740993'),
  'numbers beyond a double': list('1e400'),
  'negative zeros': list('-0'),
  'numbers of a thousand digits': list('1'.repeat(1000)),
  'one number': (bytes) => '1'.repeat(bytes),
  nulls: list('null'),
  'many keys': object((at) => `"k${at}":1`),
  'one key again and again': object(() => '"a":1'),
  'keys that are numbers': object((at) => `"${at}":1`),
  'long keys': object((at) => `"${String(at).padStart(1000, 'k')}":1`),
  'keys that mean something': object(() => '"__proto__":{}'),
  spaces: (bytes) => `[${' '.repeat(bytes - 2)}]`,
  'line ends': (bytes) => `[${'\r\n'.repeat(Math.floor((bytes - 2) / 2))}]`,
}

/** How many objects, lists, keys and texts JSON has, and how many other values, about. */
function partsOf(json: string): { parts: number; numbers: number } {
  const outside = json.replaceAll(/"(?:[^"\\]|\\.)*"/g, '"')
  return { parts: outside.match(/["[{]/g)?.length ?? 0, numbers: outside.match(/[-\d.eE+]+|null/g)?.length ?? 0 }
}

/** A shape of at most so many bytes, and with as many parts and numbers as its reader takes if it would have more. */
export function within(
  shape: (bytes: number) => string,
  bytes: number,
  most: { parts: number; numbers: number },
): string {
  const whole = shape(bytes)
  const { parts, numbers } = partsOf(whole)
  const share = Math.min(1, (most.parts * 0.98) / parts, (most.numbers * 0.98) / numbers)
  return share < 1 ? shape(Math.floor(bytes * share)) : whole
}
