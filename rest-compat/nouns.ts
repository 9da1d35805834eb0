/** The six usual routes of a noun: list, create, get, update, delete, archive. */
import { limits } from '#src/platform/limits.ts'
import { pageInfo } from './lists.ts'
import type { Route, Routes } from './routes.ts'

type Changing = 'create' | 'update' | 'delete' | 'archive'

/** What the usual routes need to know about a noun. */
export type RoutedNoun = {
  /** Its collection, such as `/v1/vaults`; the field of its list is the last part, as the graph writes it. */
  path: string
  /** Its GraphQL type, such as `Vault`; mutations and payloads are named after it. */
  type: string
  /** One of it in a sentence, such as `a vault`. */
  one: string
  /** The fields that REST shows. */
  fields: string
  /** Whether one can be archived. */
  archives?: true
  /** All of it is an addition of ours to the documented interface; without it, only the update by POST is. */
  additive?: true
  /** A sentence for OpenAPI about the list, and about each other route that does not just do what it is called. */
  summaries: { readonly list: string } & Readonly<Partial<Record<Changing | 'get', string>>>
  /** Error statuses besides the usual 400 and 404. */
  conflicts?: Partial<Readonly<Record<'create' | 'update' | 'delete', readonly number[]>>>
  /** Keys that an update may omit but not set to null. */
  neverNull?: readonly string[]
  /** Query parameters of the list that fill its filter; a noun without any needs no filter in the graph. */
  filter?: Route['filter']
  /** The noun's kind in the answer to a deletion by Anthropic's client. */
  deletes?: string
}

/** Its routes. Updates come by POST, as Anthropic's client sends them; a noun with another documented method adds that. */
export function usualRoutes(noun: RoutedNoun): Routes {
  const { path, type, one, fields, archives, summaries, conflicts = {}, filter, neverNull, deletes } = noun
  const list = fieldOf(path.slice(path.lastIndexOf('/') + 1))
  const [declared, narrowed] = filter ? [`, $filter: ${type}Filter`, ', filter: $filter'] : ['', '']
  const ours = noun.additive && { additive: noun.additive }
  const field = type[0]?.toLowerCase() + type.slice(1)
  const summary = (verb: Changing): string => summaries[verb] ?? `${capital(verb)}s ${one}`
  const changing = (verb: Changing): string =>
    `mutation ${verb}${type} ($input: ${capital(verb)}${type}Input!) { ${verb}${type}(input: $input) { body: ${field} { ${fields} } } }`
  return {
    [`GET ${path}`]: {
      status: 200,
      errors: [400],
      ...ours,
      summary: summaries.list,
      list: { shape: 'page', most: limits.agentsListMax, usual: limits.agentsListMax },
      ...(filter ? { filter } : {}),
      operation: `query list${capital(list)} ($first: Int, $after: String${declared}) {
        body: ${list}(first: $first, after: $after${narrowed}) { nodes { ${fields} } ${pageInfo} } }`,
    },
    [`POST ${path}`]: {
      status: 201,
      errors: [400, ...(conflicts.create ?? [])],
      ...ours,
      summary: summary('create'),
      operation: changing('create'),
    },
    [`GET ${path}/{id}`]: {
      status: 200,
      errors: [404],
      ...ours,
      summary: summaries.get ?? `One ${one.slice(one.indexOf(' ') + 1)}`,
      operation: `query get${type} ($id: ID!) { body: ${field}(id: $id) { ${fields} } }`,
    },
    [`POST ${path}/{id}`]: {
      status: 200,
      errors: [400, 404, ...(conflicts.update ?? [])],
      additive: true,
      ...(neverNull ? { neverNull } : {}),
      summary: summary('update'),
      operation: changing('update'),
    },
    [`DELETE ${path}/{id}`]: {
      status: 204,
      errors: [404, ...(conflicts.delete ?? [])],
      ...ours,
      ...(deletes ? { deletes } : {}),
      summary: summary('delete'),
      operation: `mutation delete${type} ($input: Delete${type}Input!) { delete${type}(input: $input) { deletedId } }`,
    },
    ...(archives && {
      [`POST ${path}/{id}/archive`]: {
        status: 200,
        errors: [404],
        ...ours,
        summary: summary('archive'),
        operation: changing('archive'),
      },
    }),
  }
}

/** The field of a list's path: `webhookEndpoints` of `webhook-endpoints`. */
function fieldOf(words: string): string {
  return words.replaceAll(/-(\w)/g, (_, letter: string) => letter.toUpperCase())
}

function capital(word: string): string {
  return (word[0]?.toUpperCase() ?? '') + word.slice(1)
}
