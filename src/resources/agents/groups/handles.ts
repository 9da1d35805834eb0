/** Handles, by which the members of a group are mentioned, and the mentions in a text. */
import { BerthError } from '#src/platform/errors.ts'
import { encodeId } from '#src/platform/ids.ts'
import { withoutEnding } from '#src/platform/texts.ts'
import type { GroupMember } from './rows.ts'

const handleLength = 64
/** What `@` with it means everyone, and who the person in a group is. */
const everyone = 'all'
/** The handle of the person in a group. */
export const userHandle = 'user'

/** Handles of agents with these names: the name in small letters without accents, and hyphens, with a number where several have the same. */
export function handlesOf(names: readonly string[]): string[] {
  const taken = new Set([everyone, userHandle])
  return names.map((name) => {
    const slug = slugOf(name)
    let handle = slug
    for (let number = 2; taken.has(handle); number++) handle = `${slug.slice(0, handleLength - 4)}-${number}`
    taken.add(handle)
    return handle
  })
}

function slugOf(name: string): string {
  const words = folded(name).match(/[a-z0-9]+/g) ?? []
  return words.join('-').slice(0, handleLength) || 'agent'
}

/** In small letters without accents. */
function folded(text: string): string {
  return text
    .normalize('NFKD')
    .replace(/\p{Mark}/gu, '')
    .toLowerCase()
}

/** An `@` that nothing of an address or a path, and no quotation mark, is before; and the word behind it, unless that is a part of one. */
const mention =
  /(?<![\p{L}\p{N}\p{M}@._/+\-"'`“”„‘’«»])@([\p{L}\p{N}\p{M}-]{1,64})(?![\p{L}\p{N}\p{M}@/]|[.][\p{L}\p{N}])/gu

/** The handles that a text mentions, each once, as handles are written. */
function mentionsIn(text: string): Set<string> {
  return new Set(Array.from(text.matchAll(mention), ([, word = '']) => withoutEnding(folded(word), '-')))
}

/** Whether a text mentions somebody who is not there. */
export function mentionsUnknown(members: readonly Pick<GroupMember, 'handle'>[], text: string): boolean {
  const known = new Set([everyone, userHandle, ...members.map(({ handle }) => handle)])
  return !mentionsIn(text).isSubsetOf(known)
}

/** The members that a text of another member mentions, in their order; `@all` are all others. Quotes mention nobody. */
export function mentionedBy(author: GroupMember, members: readonly GroupMember[], text: string): GroupMember[] {
  const mentioned = mentionsIn(withoutQuotes(text))
  return members.filter(
    ({ handle, sessionId }) => sessionId !== author.sessionId && (mentioned.has(handle) || mentioned.has(everyone)),
  )
}

/** What a member says itself. */
export function withoutQuotes(text: string): string {
  return text
    .split('\n')
    .filter((line) => !line.startsWith('>'))
    .join('\n')
}

/**
 * The members that are to answer a message of the user's, in their order: those that `recipientIds` names, or those that
 * the text mentions, or all.
 * @throws BerthError invalid_request for somebody who is no member.
 */
export function recipientsOf(
  members: readonly GroupMember[],
  text: string,
  recipientIds: readonly string[] | null | undefined,
): GroupMember[] {
  if (recipientIds !== null && recipientIds !== undefined) {
    const named = new Set(recipientIds)
    const chosen = members.filter(({ sessionId }) => named.has(encodeId('session', sessionId)))
    if (chosen.length < named.size || named.size === 0)
      throw new BerthError(
        'invalid_request',
        'recipient_ids must name sessions that are members of this group; omit it to mention them in the text, or to ask all.',
        { field: 'recipient_ids' },
      )
    return chosen
  }
  const mentioned = mentionsIn(text)
  const chosen = members.filter(({ handle }) => mentioned.has(handle))
  if (mentioned.has(everyone)) return [...members]
  if (chosen.length > 0) return chosen
  const [, addressed] = /^\s*@([\p{L}\p{N}\p{M}-]{1,64})/u.exec(text.slice(0, addressLength)) ?? []
  if (addressed !== undefined)
    throw new BerthError(
      'invalid_request',
      `text begins with @${addressed}, but no member has that handle. Members are ${members.map(({ handle }) => `@${handle}`).join(', ')}; @all asks all of them. Give recipient_ids when no mention is meant.`,
      { field: 'text' },
    )
  return [...members]
}

/** So far an address is looked for. Unit: characters. */
const addressLength = 1_000
