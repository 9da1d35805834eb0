/**
 * The types that a client library declares, read from its own .d.ts files, so that a test can check real answers against
 * them, and an upgrade shows what is new. Reads the plain types that generated clients have: interfaces, unions,
 * intersections, literals, arrays, index signatures. Names are unique among the files that are read together.
 */
import { readFileSync } from 'node:fs'

/** A declared type; `named` is one that is declared elsewhere. */
export type Shape =
  | { kind: 'literal'; value: unknown }
  | { kind: 'primitive'; name: string }
  | { kind: 'array'; item: Shape }
  | {
      kind: 'object'
      members: Map<string, { shape: Shape; optional: boolean }>
      parents: string[]
      index: Shape | null
    }
  | { kind: 'union' | 'intersection'; of: Shape[] }
  | { kind: 'named'; name: string }

/** Types by name. */
export type Declarations = ReadonlyMap<string, Shape>

const primitives = new Set(['string', 'number', 'boolean', 'unknown', 'any', 'never', 'undefined', 'object', 'void'])

const anthropicFolder = new URL('../../node_modules/@anthropic-ai/sdk/', import.meta.url)

/** Reads the files. */
export function readDeclarations(paths: readonly string[]): Declarations {
  const declarations = new Map<string, Shape>()
  for (const path of paths) new Reader(readFileSync(path, 'utf8')).all(declarations)
  return declarations
}

/**
 * The types that Anthropic's client declares in some of its files, and how values, as JSON, differ from one of them.
 * @param names of files below `resources/beta`, without their ending.
 */
export function anthropicTypes(names: readonly string[]): {
  declarations: Declarations
  problems: (value: unknown, type: string) => string[]
} {
  const files = [...names.map((name) => `resources/beta/${name}`), 'core/pagination']
  const declarations = readDeclarations(files.map((file) => new URL(`${file}.d.ts`, anthropicFolder).pathname))
  return {
    declarations,
    problems: (value, type) =>
      problemsWith(JSON.parse(JSON.stringify(value)), { kind: 'named', name: type }, declarations, type),
  }
}

/** The members of a type, including inherited ones. */
export function membersOf(
  declarations: Declarations,
  shape: Shape | string,
): Map<string, { shape: Shape; optional: boolean }> {
  const found = typeof shape === 'string' ? named(declarations, shape) : shape
  if (found.kind === 'named') return membersOf(declarations, found.name)
  if (found.kind !== 'object') throw new Error(`a type without members: ${found.kind}`)
  return new Map([...found.parents.flatMap((parent) => [...membersOf(declarations, parent)]), ...found.members])
}

/** Why a value is not of the type: each problem with its path; undeclared keys are allowed. */
export function problemsWith(value: unknown, shape: Shape, declarations: Declarations, place = ''): string[] {
  const wrong = (wanted: string): string[] => [
    `${place || 'it'} is ${JSON.stringify(value) ?? 'absent'} and should be ${wanted}`,
  ]
  switch (shape.kind) {
    case 'named':
      return problemsWith(value, named(declarations, shape.name), declarations, place)
    case 'literal':
      return value === shape.value ? [] : wrong(JSON.stringify(shape.value))
    case 'primitive':
      return ['unknown', 'any'].includes(shape.name) || typeof value === shape.name ? [] : wrong(shape.name)
    case 'array':
      return Array.isArray(value)
        ? value.flatMap((item, index) => problemsWith(item, shape.item, declarations, `${place}[${index}]`))
        : wrong('a list')
    case 'intersection':
      return shape.of.flatMap((one) => problemsWith(value, one, declarations, place))
    case 'union': {
      const tried = shape.of.map((one) => problemsWith(value, one, declarations, place))
      if (tried.some((problems) => problems.length === 0)) return []
      return (
        tried
          .sort((one, other) => one.length - other.length)
          .find((problems) => !problems.some((problem) => problem.startsWith(`${place}.type is`))) ??
        tried[0] ??
        wrong('something')
      )
    }
    case 'object': {
      if (shape.members.size === 0 && shape.parents.length === 0 && !shape.index)
        return value === null || value === undefined ? wrong('something') : [] // {} is anything but null and undefined
      if (typeof value !== 'object' || value === null || Array.isArray(value)) return wrong('an object')
      const fields = value as Record<string, unknown>
      const members = membersOf(declarations, shape)
      const others = shape.index ? Object.entries(fields).filter(([key]) => !members.has(key)) : []
      return [
        ...[...members].flatMap(([key, member]) =>
          fields[key] === undefined && member.optional
            ? []
            : problemsWith(fields[key], member.shape, declarations, `${place}.${key}`),
        ),
        ...others.flatMap(([key, one]) => problemsWith(one, shape.index!, declarations, `${place}.${key}`)), // it was looked at just before
      ]
    }
  }
}

function named(declarations: Declarations, name: string): Shape {
  const shape = declarations.get(name)
  if (!shape) throw new Error(`no type of the name ${name} was read`)
  return shape
}

class Reader {
  readonly #tokens: string[]
  #at = 0

  constructor(source: string) {
    this.#tokens =
      source
        .replaceAll(/\/\*[^]*?\*\//g, '')
        .replaceAll(/\/\/.*$/gm, '')
        .match(/'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|[\w$#]+|=>|\.\.\.|[^\s]/g) ?? []
  }

  all(into: Map<string, Shape>): void {
    for (; this.#at < this.#tokens.length; this.#at++) {
      const kind = this.#tokens[this.#at]
      const name = this.#tokens[this.#at + 1] ?? ''
      if (!/^\w+$/.test(name) || into.has(name)) continue
      if (kind === 'interface') {
        this.#at += 2
        if (this.#peek() !== '{' && this.#peek() !== 'extends') continue // it has type parameters
        into.set(name, this.#interface())
        this.#at--
      } else if (kind === 'type' && this.#tokens[this.#at + 2] === '=') {
        this.#at += 3
        into.set(name, this.#type())
      }
    }
  }

  #interface(): Shape {
    const parents: string[] = []
    if (this.#take('extends'))
      do parents.push(this.#name())
      while (this.#take(','))
    const shape = this.#object()
    return shape.kind === 'object' ? { ...shape, parents } : shape
  }

  #type(): Shape {
    this.#take('|')
    const of = [this.#intersection()]
    while (this.#take('|')) of.push(this.#intersection())
    return of.length === 1 ? of[0]! : { kind: 'union', of } // it has one
  }

  #intersection(): Shape {
    const of = [this.#postfix()]
    while (this.#take('&')) of.push(this.#postfix())
    return of.length === 1 ? of[0]! : { kind: 'intersection', of } // it has one
  }

  #postfix(): Shape {
    this.#take('readonly') // says nothing of the value
    let shape = this.#primary()
    while (this.#peek() === '[' && this.#tokens[this.#at + 1] === ']') {
      this.#at += 2
      shape = { kind: 'array', item: shape }
    }
    return shape
  }

  #primary(): Shape {
    const token = this.#peek()
    if (token === '{') return this.#object()
    if (token === '(') {
      this.#at++
      const shape = this.#type()
      this.#take(')')
      return shape
    }
    if (/^['"]/.test(token)) return this.#literal(token.slice(1, -1))
    if (/^\d/.test(token)) return this.#literal(Number(token))
    if (token === 'null' || token === 'true' || token === 'false') return this.#literal(JSON.parse(token))
    const name = this.#name()
    if (primitives.has(name)) return { kind: 'primitive', name }
    if (!this.#take('<')) return { kind: 'named', name }
    const first = this.#type()
    while (this.#take(',')) this.#type()
    this.#take('>')
    return name === 'Array' ? { kind: 'array', item: first } : { kind: 'named', name }
  }

  #literal(value: unknown): Shape {
    this.#at++
    return { kind: 'literal', value }
  }

  /** The last part of a name: what stands before the dot is where it was imported from. */
  #name(): string {
    let name = this.#tokens[this.#at++] ?? ''
    while (this.#take('.')) name = this.#tokens[this.#at++] ?? ''
    return name
  }

  #object(): Shape {
    const members = new Map<string, { shape: Shape; optional: boolean }>()
    let index: Shape | null = null
    this.#at++
    while (!this.#take('}')) {
      if (this.#take(';') || this.#take('readonly')) continue
      if (this.#take('[')) {
        while (!this.#take(']')) this.#at++
        this.#take(':')
        index = this.#type()
        continue
      }
      const key = (this.#tokens[this.#at++] ?? '}').replaceAll(/^['"]|['"]$/g, '')
      const optional = this.#take('?')
      if (!this.#take(':')) throw new Error(`what is declared as ${key} is no plain member`)
      members.set(key, { shape: this.#type(), optional })
    }
    return { kind: 'object', members, parents: [], index }
  }

  #peek(): string {
    return this.#tokens[this.#at] ?? ''
  }

  #take(token: string): boolean {
    if (this.#peek() !== token) return false
    this.#at++
    return true
  }
}
