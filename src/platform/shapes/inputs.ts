/**
 * Inputs of the graph, read by the shape in which they are stored. An input has keys in camelCase, and says of which kind it
 * is by its only key (`{limited: {allowedHosts: []}}`); what is stored has the wire's keys, and a `type`
 * (`{type: 'limited', allowed_hosts: []}`). Errors name places as they are stored: schema/input-names.ts says which
 * place of the input that is.
 */
import { z } from 'zod'
import { BerthError } from '../errors.ts'
import { exact } from '../shapes.ts'
import { camelCase, snakeCase } from '../texts.ts'

/** The graph's names of words where they are more than another spelling. */
type Names = Readonly<Record<string, string>>
type Camel<Word> = Word extends `${infer Head}${'_' | '.'}${infer Tail}` ? `${Head}${Capitalize<Camel<Tail>>}` : Word
type NameOf<Word, Given extends Names> = (Word extends keyof Given ? Given[Word] : Camel<Word>) & string
type Keys = z.core.$ZodLooseShape
type Input<Fields, Given extends Names> = { [Word in keyof Fields as NameOf<Word, Given>]: Fields[Word] }

/**
 * An object with these keys, spelled as they are stored, and no others.
 * @param names the graph's names of keys where they are more than another spelling.
 * @param refusals as those of `exact`.
 */
export function input<Shape extends Keys, const Given extends Names = Record<never, string>>(
  shape: Shape,
  names?: Given,
  refusals?: Names,
): z.ZodType<z.output<z.ZodObject<Shape, z.core.$strict>>, Input<z.input<z.ZodObject<Shape, z.core.$strict>>, Given>> {
  const stored = exact(shape, refusals)
  return z
    .looseObject({})
    .transform((given) => inWords(given, names))
    .pipe(stored) as never // as the type says
}

/** The input under its own keys as they are stored; a key without a value is none. @param names as those of `input`. */
export function inWords(given: object, names: Names = {}): Record<string, unknown> {
  const words = new Map(Object.entries(names).map(([word, name]) => [name, word]))
  const written = Object.entries(given).filter(([, value]) => value !== undefined)
  return Object.fromEntries(written.map(([name, value]) => [words.get(name) ?? snakeCase(name), value]))
}

type Kinds = Readonly<Record<string, z.ZodType | true>>
type KindsInput<Of extends Kinds, Given extends Names> = {
  [Word in keyof Of as NameOf<Word, Given>]?: (Of[Word] extends z.ZodType ? z.input<Of[Word]> : boolean) | null
}
type Stored<Of extends Kinds> = {
  [Word in keyof Of]: Of[Word] extends z.ZodType ? { type: Word } & z.output<Of[Word]> : { type: Word }
}[keyof Of]

/**
 * A thing of one of these kinds, each with its own shape, or `true` for a kind that has no fields.
 * @param names as those of `input`.
 * @throws BerthError invalid_request, when it is read, for a kind without fields that is false.
 */
export function oneOf<Of extends Kinds, const Given extends Names = Record<never, string>>(
  kinds: Of,
  names?: Given,
): z.ZodType<Stored<Of>, KindsInput<Of, Given>> {
  const known = new Map(
    Object.entries(kinds).map(([word, shape]) => [
      names?.[word] ?? camelCase(word.replaceAll('.', '_')),
      { word, shape },
    ]),
  )
  const read = z.looseObject({}).transform((given, context) => {
    const [name = '', fields] = Object.entries(given).find(([, value]) => value !== undefined && value !== null) ?? []
    const { word, shape } = known.get(name) ?? {}
    if (shape === true) {
      refuseFalse(name, fields)
      return { type: word }
    }
    const outcome = shape?.safeParse(fields)
    if (outcome?.success) return { type: word, ...(outcome.data as object) } // shapes of kinds are of objects
    for (const issue of outcome?.error.issues ?? [{ message: 'it must be of one kind' }])
      context.addIssue(issue as never) // its path has no step for the kind
    return z.NEVER
  })
  return read as never // as the type says
}

/** Refuses false where only true says something. @throws BerthError invalid_request. */
export function refuseFalse(name: string, given: unknown): void {
  if (given === false)
    throw new BerthError('invalid_request', `${name} can only be true. Omit it instead.`, { field: name })
}
