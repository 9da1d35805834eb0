/** The documents of a checkout that Berth serves: as they are, as pages, and to who searches them. */
import { lstatSync, readFileSync, realpathSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

let own: readonly string[] | undefined

/** The documents of this Berth, which are looked for once in a process. */
export function ownDocuments(): readonly string[] {
  return (own ??= documentsOf(checkout))
}

/** Where this Berth's own files lie. */
export const checkout = fileURLToPath(new URL('../..', import.meta.url))
/** The first document. */
export const readme = 'README.md'

/**
 * The documents, at the same paths below `/` as in the checkout, so that their links to each other work: the README, what
 * it links to, and so on. What else lies in the checkout is its operator's.
 * @param folder the checkout, as an absolute path.
 */
export function documentsOf(folder: string): string[] {
  const root = realpathSync(folder)
  const found = new Set([readme])
  for (const path of found) {
    if (!isOwnFile(join(root, path))) found.delete(path)
    else if (path.endsWith('.md'))
      for (const linked of linksOf(path, readFileSync(join(root, path), 'utf8'))) found.add(linked)
  }
  return [...found]
}

/** Whether it is a file, and neither it nor a folder above it is a link to elsewhere. */
function isOwnFile(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isFile() === true && realpathSync(path) === path
}

/** The files of the checkout that a document links to, outside of its blocks of code. */
function linksOf(path: string, text: string): string[] {
  const here = new URL(path, 'file:///')
  const prose = text.split(/^```/m).filter((_, at) => at % 2 === 0)
  return [...prose.join('').matchAll(/\]\((?![a-z]+:|\/\/)([^)#\s]+)/g)]
    .map(([, link = '']) => new URL(link, here).pathname.slice(1))
    .filter((linked) => /\.\w+$|^LICENSE$/.test(linked))
}
