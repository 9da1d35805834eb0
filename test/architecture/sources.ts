/**
 * Our own source files, read as text. TypeScript 7 has no compiler API, so the tests of the structure scan: comments
 * and the insides of strings are blanked out first, so that a word in a sentence is not taken for code.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, posix, relative } from 'node:path'
import { fileURLToPath } from 'node:url'

/** The checkout. */
export const root = fileURLToPath(new URL('../..', import.meta.url)).replace(/\/$/, '')

/** One file: its path below the checkout, its text, and the text with comments and insides of strings as spaces. */
export type Source = { path: string; text: string; code: string }

const skipped = new Set(['node_modules', '.git', '.berth', 'generated'])

/** Every file below these folders whose name ends so, sorted. */
export function listFiles(folders: readonly string[], ending: string): string[] {
  return folders
    .flatMap((folder) => readdirSync(`${root}/${folder}`, { recursive: true, withFileTypes: true }))
    .filter((entry) => entry.isFile() && entry.name.endsWith(ending))
    .map((entry) => relative(root, `${entry.parentPath}/${entry.name}`))
    .filter((path) => !path.split('/').some((part) => skipped.has(part)))
    .sort()
}

/** The code that runs in production, the console's excepted. */
export const productFolders = ['src', 'schema', 'rest-compat', 'workers', 'cli'] as const

/** Reads the TypeScript files of these folders. */
export function readSources(folders: readonly string[]): Source[] {
  return listFiles(folders, '.ts').map((path) => {
    const text = readFileSync(`${root}/${path}`, 'utf8')
    return { path, text, code: blankOut(text) }
  })
}

const aliases: Readonly<Record<string, string>> = {
  '#src/': 'src/',
  '#schema/': 'schema/',
  '#rest-compat/': 'rest-compat/',
  '#workers/': 'workers/',
}

/** The files of ours that this one imports, also for types and late, as paths below the checkout. */
export function importsOf({ path, text, code }: Source): string[] {
  const found: string[] = []
  for (const match of code.matchAll(/\b(?:import|export)\b[^;'"`]*?\bfrom\s*['"]|\bimport\s*\(?\s*['"`]/g)) {
    const start = match.index + match[0].length
    const quote = match[0].at(-1) ?? ''
    const target = text.slice(start, text.indexOf(quote, start))
    const alias = Object.keys(aliases).find((one) => target.startsWith(one))
    if (alias) found.push((aliases[alias] ?? '') + target.slice(alias.length))
    else if (target.startsWith('.')) found.push(posix.normalize(posix.join(dirname(path), target)))
  }
  return found
}

/** The text with comments and the insides of strings, templates and patterns replaced by spaces; lines and columns stay. */
export function blankOut(text: string): string {
  const out = text.split('') // by code unit, as positions count
  const blank = (from: number, to: number): void => {
    for (let i = from; i < to; i++) if (out[i] !== '\n') out[i] = ' '
  }
  const templates: number[] = [] // depth of braces at which each open template goes on
  let depth = 0
  let at = 0
  while (at < text.length) {
    const char = text[at] ?? ''
    const next = text[at + 1]
    if (char === '/' && (next === '/' || next === '*')) {
      const end = endOf(text, next === '/' ? '\n' : '*/', at + 2)
      blank(at, end)
      at = end
    } else if (char === '"' || char === "'") {
      const end = endOfQuoted(text, at + 1, char)
      blank(at + 1, end)
      at = end + 1
    } else if (char === '/' && beginsPattern(out, at)) {
      const end = endOfPattern(text, at + 1)
      blank(at + 1, end)
      at = end + 1
    } else if (char === '`' || (char === '}' && templates.at(-1) === depth)) {
      if (char === '}') templates.pop()
      const end = endOfTemplate(text, at + 1)
      blank(at + 1, end)
      if (text[end] === '$') {
        templates.push(depth)
        at = end + 2
      } else at = end + 1
    } else {
      if (char === '{') depth++
      if (char === '}') depth--
      at++
    }
  }
  return out.join('')
}

function endOf(text: string, mark: string, from: number): number {
  const found = text.indexOf(mark, from)
  return found < 0 ? text.length : mark === '\n' ? found : found + mark.length
}

function endOfQuoted(text: string, from: number, quote: string): number {
  for (let at = from; at < text.length; at++) {
    if (text[at] === '\\') at++
    else if (text[at] === quote) return at
  }
  return text.length
}

/** Where the template text ends: at its backtick, or at the `$` of a `${`. */
function endOfTemplate(text: string, from: number): number {
  for (let at = from; at < text.length; at++) {
    if (text[at] === '\\') at++
    else if (text[at] === '`' || (text[at] === '$' && text[at + 1] === '{')) return at
  }
  return text.length
}

function endOfPattern(text: string, from: number): number {
  let inSet = false
  for (let at = from; at < text.length; at++) {
    if (text[at] === '\\') at++
    else if (text[at] === '[') inSet = true
    else if (text[at] === ']') inSet = false
    else if (text[at] === '/' && !inSet) return at
  }
  return text.length
}

/** Whether a slash here begins a pattern and does not divide: by what stands before it. */
function beginsPattern(out: readonly string[], at: number): boolean {
  const before = out
    .slice(Math.max(0, at - 40), at)
    .join('')
    .trimEnd()
  return (
    before === '' ||
    /[(,=:[!&|?{};<>+~^%*-]$/.test(before) ||
    /\b(?:return|typeof|case|in|of|yield|await)$/.test(before)
  )
}
