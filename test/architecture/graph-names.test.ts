/** The names of the graph: one word for one idea, so that who knows one noun can guess the next. Old names are exempt. */
import { expect, test } from 'vitest'
import { schema } from '#schema/schema.ts'

type Named = { name: string; deprecationReason?: string | null | undefined }
const current = <One extends Named>(all: readonly One[]): One[] => all.filter((one) => !one.deprecationReason)

const mutations = current(Object.values(schema.getMutationType()?.getFields() ?? {}))

/** What mutations do; `create` and `delete` and so on are opposites, and there is one verb for each deed. */
const verbs = [
  'create delete undelete add remove archive update set replace rotate revoke',
  'start stop pause resume wake run cancel kill exec sync refresh deploy roll restore replay',
  'enable disable link unlink connect disconnect activate check validate try',
  'send answer mark select complete move write',
]
  .join(' ')
  .split(' ')

test('a mutation begins with one of the verbs there are', () => {
  const wrong = mutations.filter(({ name }) => !verbs.includes(/^[a-z]+/.exec(name)?.[0] ?? ''))
  expect(wrong.map(({ name }) => name)).toEqual([])
  expect(mutations.length).toBeGreaterThan(100)
  expect(verbs).not.toContain('unpause')
})
