/**
 * Finds sections of the documents by the words that somebody types: those that stand there, and the usual ones that the index
 * in docs/README.md leads from. It is made once in a process, when it is first asked.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import MiniSearch from 'minisearch'
import { checkout, ownDocuments } from './documents.ts'
import { linksIn, sectionsOf, type Section } from './sections.ts'

/** Longer questions are cut. Unit: characters. */
const queryCharactersMax = 200
/** Words that are looked for; the beginning of one counts from so many characters on. */
const wordsMax = 8
const prefixCharactersMin = 3
/** A word may be mistyped by so much of its length. */
const fuzziness = 0.2
const boost = { usual: 6, heading: 3, title: 2 }
const indexPath = 'docs/README.md'

/** @property usual the words under which the index has it. */
type Indexed = Section & { id: number; usual: string }

type Index = { search: MiniSearch<Indexed>; sections: readonly Section[] }

let index: Promise<Index> | undefined

/** The usual words for each address within the documents: of the rows of the index. */
function usualWords(): Map<string, string> {
  const words = new Map<string, string>()
  const here = new URL(indexPath, 'file:///')
  for (const line of readFileSync(join(checkout, indexPath), 'utf8').split('\n')) {
    const [, usual = '', leadsTo = ''] = /^\| ([^|]+) \| (.+) \|$/.exec(line) ?? []
    for (const link of linksIn(leadsTo)) {
      const { pathname, hash } = new URL(link, here)
      const address = `${pathname.slice(1)}${hash}`
      words.set(address, `${words.get(address) ?? ''} ${usual}`)
    }
  }
  return words
}

/** A few sections at a time, so that nobody else waits for it. */
async function build(): Promise<Index> {
  const sections = ownDocuments()
    .filter((path) => path.endsWith('.md'))
    .flatMap((path) => sectionsOf(path, readFileSync(join(checkout, path), 'utf8')))
  const usual = usualWords()
  const usualOf = ({ path, anchor }: Section, at: number): string => {
    const ofDocument = sections[at - 1]?.path === path ? undefined : usual.get(path)
    return `${usual.get(`${path}#${anchor}`) ?? ''} ${ofDocument ?? ''}`
  }
  const search = new MiniSearch<Indexed>({
    fields: ['usual', 'heading', 'title', 'text'],
    searchOptions: {
      boost,
      prefix: (word) => word.length >= prefixCharactersMin,
      fuzzy: fuzziness,
      combineWith: 'AND',
    },
  })
  await search.addAllAsync(sections.map((section, id) => ({ ...section, id, usual: usualOf(section, id) })))
  return { search, sections }
}

/** The sections that have all words, the best first; where none has all, those that have some. @param most how many */
export async function searchDocuments(query: string, most: number): Promise<Section[]> {
  const { search, sections } = await (index ??= build())
  const typed = query.slice(0, queryCharactersMax).toLowerCase().split(/\s+/).filter(Boolean)
  const words = [...new Set(typed)].slice(0, wordsMax).join(' ')
  const all = search.search(words)
  const found = all.length > 0 ? all : search.search(words, { combineWith: 'OR' })
  return found.slice(0, most).map(({ id }) => sections[Number(id)]!) // ids are places in it
}
