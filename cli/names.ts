/** Objects by their names or ids. */
import type { Page } from '../src/client/berth.ts'
import { exits, Failure, NothingNamed, UsageError } from './errors.ts'
import { lineOf } from './text.ts'

const pagesMax = 20 // of a hundred rows each; who has more passes ids

/** Whether it looks like an id, such as `vm_01…`. */
export function isId(text: string): boolean {
  return /^[a-z]{2,8}_[0-9a-z]{26}$/.test(text) || text.startsWith('svc_')
}

/** A list that names are looked up in. */
export type Named<Row extends { id: string }> = {
  one: string // what a row is: `VM`
  list(variables: { after?: string | null; filter?: { text?: string } }): Promise<Page<Row>>
  nameOf(row: Row): string | null | undefined
  isSearchable?: boolean // whether the list takes `filter: {text}`
}

/** The id of what has the name, or of what is named by its id. @throws NothingNamed; Failure when there are too many to look through; UsageError when several have the name. */
export async function idOf<Row extends { id: string }>(named: Named<Row>, text: string): Promise<string> {
  if (isId(text)) return text
  const found: string[] = []
  let after: string | null = null
  for (let page = 0; page < pagesMax; page++) {
    const read: Page<Row> = await named.list({
      ...(after === null ? {} : { after }),
      ...(named.isSearchable ? { filter: { text } } : {}),
    })
    found.push(...read.nodes.filter((row) => named.nameOf(row) === text).map((row) => row.id))
    after = read.endCursor
    if (after === null) break
  }
  const [id, ...others] = found
  if (id === undefined && after === null) throw new NothingNamed(`There is no ${named.one} '${lineOf(text)}'.`)
  if (id === undefined) throw new Failure(`There are too many to find '${lineOf(text)}'. Pass its id.`, exits.notFound)
  if (others.length > 0)
    throw new UsageError(`Several have the name '${lineOf(text)}'. Pass one of the ids: ${found.join(', ')}`)
  return id
}
