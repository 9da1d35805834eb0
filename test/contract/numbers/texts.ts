/** JSON texts with all kinds of numbers, and what two texts have in common when their numbers are the same. */
import fc from 'fast-check'

/** Numbers that a double changes. */
export const nasty = [
  '9007199254740993',
  '-9007199254740993',
  '12345678901234567890123456789',
  '1152921504606846976', // 2⁶⁰, which a double holds, but does not write
  '0.1000000000000000055',
  '3.14159265358979323846264338327950288',
  '-0',
  '-0.0',
  '1e400',
  '-1E+400',
  '5e-400',
  '1.7976931348623159e308',
  '0.30000000000000000000000000000004',
] as const

const digits = fc.stringMatching(/^\d{1,25}$/)
/** The text of any number of JSON. */
export const numberText = fc
  .record({
    sign: fc.constantFrom('', '-'),
    whole: fc.oneof(fc.constant('0'), fc.stringMatching(/^[1-9]\d{0,30}$/)),
    fraction: fc.option(digits),
    power: fc.option(fc.record({ e: fc.constantFrom('e', 'E', 'e+', 'e-', 'E-'), by: fc.nat(420) })),
  })
  .map(
    ({ sign, whole, fraction, power }) =>
      `${sign}${whole}${fraction === null ? '' : `.${fraction}`}${power ? `${power.e}${power.by}` : ''}`,
  )

const space = fc.constantFrom('', ' ', '\n', '\t ')
const keyText = fc
  .string({ unit: 'grapheme', maxLength: 8 })
  .filter(isPlainKey)
  .map((key) => JSON.stringify(key))

/** Integers as keys have an order of their own in JavaScript, and `__proto__` is dropped. */
function isPlainKey(key: string): boolean {
  return !/^\d+$/.test(key) && key !== '__proto__'
}

/** Any JSON text, with white space. */
export const jsonText = fc.letrec<{ value: string }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    fc.oneof(numberText, fc.constantFrom(...nasty)),
    fc.string({ unit: 'grapheme' }).map((text) => JSON.stringify(text)),
    fc.constantFrom('true', 'false', 'null'),
    fc
      .tuple(space, fc.array(tie('value'), { maxLength: 5 }))
      .map(([between, items]) => `[${items.join(`${between},${between}`)}]`),
    fc
      .tuple(space, fc.uniqueArray(fc.tuple(keyText, tie('value')), { maxLength: 5, selector: ([key]) => key }))
      .map(
        ([between, fields]) =>
          `{${fields.map(([key, value]) => `${key}${between}:${between}${value}`).join(`,${between}`)}}`,
      ),
  ),
})).value

/** A JSON object, as arguments of a tool are one. */
export const objectText = jsonText.map((text) => `{"given":${text}}`)

/**
 * A JSON text in one form: without white space, with every number as its digits and its power of ten. Two texts have the
 * same one when they have the same values and keys in the same order. Numbers are never read as doubles.
 */
export function canonical(text: string): string {
  return text.replace(/"(?:[^"\\]|\\.)*"|\s+|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g, (token) =>
    token.startsWith('"') ? JSON.stringify(JSON.parse(token)) : token.trim() === '' ? '' : decimal(token),
  )
}

function decimal(token: string): string {
  const [, sign, whole = '', fraction = '', power = '0'] =
    /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(token) ?? []
  const all = (whole + fraction).replace(/^0+/, '')
  const kept = all.replace(/0+$/, '')
  if (kept === '') return `${sign}0`
  return `${sign}${kept}e${Number(power) - fraction.length + all.length - kept.length}`
}

/** An object with all the nasty numbers and with generated values: what the tests send along every path. */
export const sent = `{"nasty":[${nasty.join()}],"last":{"zeta":1.10,"b":9007199254740993,"aa":[${fc.sample(jsonText, { numRuns: 40, seed: 26 }).join()}]}}`

/** Whether a text has that object in it, with the same numbers and keys in the same order. */
export function holds(text: string, object = sent): boolean {
  return canonical(text).includes(canonical(object))
}
