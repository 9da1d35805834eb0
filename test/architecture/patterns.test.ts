/** No regular expression that takes more than linear time sees foreign text: each one in the product is read and proven. */
import { parseAst } from 'vitest/node'
import { describe, expect, test } from 'vitest'
import { whyNotLinear } from '../support/linear-patterns.ts'
import { productFolders, readSources, type Source } from './sources.ts'

type Pattern = { at: string; source: string; flags: string }

const product = readSources(productFolders)

/** Patterns that are not linear, and why that does no harm: the text is short whoever wrote it. Give the length, and what holds it. */
const boundedOtherwise: Readonly<Record<string, string>> = {}

/** Every node of a file's syntax, with its line. */
function nodesOf({ path, text }: Source): { node: Record<string, unknown>; at: string }[] {
  const found: { node: Record<string, unknown>; at: string }[] = []
  const visit = (value: unknown): void => {
    if (typeof value !== 'object' || value === null) return
    if ('type' in value && 'start' in value)
      found.push({
        node: value as Record<string, unknown>,
        at: `${path}:${text.slice(0, Number(value.start)).split('\n').length}`,
      })
    for (const inner of Object.values(value)) visit(inner)
  }
  visit(parseAst(text, { lang: 'ts' }))
  return found
}

const nodes = product.flatMap(nodesOf)

function patternsOf(all: typeof nodes): Pattern[] {
  return all.flatMap(({ node, at }) => {
    const regex =
      node['type'] === 'Literal' ? (node['regex'] as { pattern: string; flags: string } | undefined) : undefined
    return regex ? [{ at, source: regex.pattern, flags: regex.flags }] : []
  })
}

describe('regular expressions of the product', () => {
  test('are all found', () => {
    expect(patternsOf(nodes).length).toBeGreaterThan(100)
  })

  test('are matched in time linear in the text, or their text is bounded for a reason that is written down', () => {
    const wrong = patternsOf(nodes).flatMap(({ at, source, flags }) => {
      const why = whyNotLinear(source, flags)
      return why && !(source in boundedOtherwise) ? [`${at}: /${source}/${flags}: ${why}`] : []
    })
    expect(wrong).toEqual([])
  })

  test('that stand in the list of exceptions are still there, and still need it', () => {
    const needed = patternsOf(nodes)
      .filter(({ source, flags }) => whyNotLinear(source, flags) !== null)
      .map(({ source }) => source)
    expect(Object.keys(boundedOtherwise).filter((source) => !needed.includes(source))).toEqual([])
  })

  test('are never put together while the process runs, where nothing could prove them', () => {
    const calls = nodes.filter(({ node }) => node['type'] === 'NewExpression' || node['type'] === 'CallExpression')
    const made = calls.filter(({ node }) => (node['callee'] as { name?: string }).name === 'RegExp')
    const fromText = calls.filter(({ node }) => {
      const callee = node['callee'] as { property?: { name?: string } }
      const [first] = node['arguments'] as { type?: string; value?: unknown }[]
      return (
        ['match', 'matchAll', 'search'].includes(callee.property?.name ?? '') &&
        first?.type === 'Literal' &&
        typeof first.value === 'string'
      )
    })
    expect([...made, ...fromText].map(({ at }) => at)).toEqual([])
  })
})

describe('the proof', () => {
  test.each([
    ['\\s*X', ''],
    ['[^;]*; at "', ''],
    ['; (?:at|.* at) "([^"]+)"', ''],
    ['\\s*Did you mean [^?]*\\?', 'g'],
    ['(a|a)*b', ''],
    ['(a*)*b', ''],
    ['(?:a?b?)*c', ''],
    ['a.*$', ''],
    ['/+$', ''],
    ['^\\s+|\\s+$', 'g'],
    ['b(?:b*c)?', 'g'],
    ['^a*a*$', ''],
    ['(?=a*b)', ''],
    ['\\d{1,70};', ''],
    ['<[^>]*>', 'g'],
    [' *\\n *', 'g'],
    ['"(?:[^"\\\\]|\\\\.)*"', 'g'],
    ['(x+x+)+y', ''],
    ['^(?:x+x+)y', ''],
    ['(a)\\1', ''],
    ['(?<=a+)b', ''],
    ['(?:a|A)*b', 'i'],
    ['^[\\s\\S]*?x*y', ''],
    ['(?:\\u{61}|a)*b', 'u'],
  ])('refuses /%s/%s', (source, flags) => {
    expect(whyNotLinear(source, flags)).not.toBeNull()
  })

  test.each([
    ['^(a|ab)*$', ''],
    ['^a+b+$', ''],
    ['^(?:a?b?)*$', ''],
    ['a.*$', 's'],
    ['a.*$', 'm'],
    ['x*', 'g'],
    ['a+', 'g'],
    ['\\d{1,7};', ''],
    ['<[^<>]*>', 'g'],
    ['^(?:[a-z]+\\.)+[a-z]+$', ''],
    ['\\bfoo\\w*', 'g'],
    ['^"(?:[^"\\\\]|\\\\.)*"$', ''],
    ['^[\\w.-]+@[\\w.-]+\\.\\w+$', ''],
    ['-----BEGIN [^-]*-----', 'g'],
    ['^[^:]*:', 'y'],
    ['(^|[^a-z])[a-z]+=', 'g'],
  ])('finds /%s/%s linear', (source, flags) => {
    expect(whyNotLinear(source, flags)).toBeNull()
  })

  test('agrees with the engine: what is called linear takes four times as long for four times the text, not sixteen', () => {
    const times = (source: string, flags: string, text: string): number => {
      const pattern = new RegExp(source, flags)
      const before = process.threadCpuUsage() // not the clock: others may be at work on this machine
      pattern.test(text)
      return process.threadCpuUsage(before).user
    }
    const spaces = 12_000
    expect(times('\\s*Did you mean', '', ' '.repeat(spaces))).toBeGreaterThan(
      20 * times('(?:^|\\S)\\s*Did you mean', '', ' '.repeat(spaces)),
    )
  })
})
