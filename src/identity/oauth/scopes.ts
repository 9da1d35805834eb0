/** Scopes as programs write them: words with spaces between. A larger one has the smaller ones in it. */
import { programScopes, type ProgramScope } from '#src/platform/access/permissions.ts'
import { OAuthError } from './errors.ts'

/**
 * The largest scope in a text. Words that Berth does not know are left out, as servers do, such as `offline_access`: a refresh
 * token comes always. Without a text it is `read`.
 * @throws OAuthError invalid_scope when it knows none of them.
 */
export function readScope(text: string | null): ProgramScope {
  if (text === null || text.trim() === '') return 'read'
  const words = text.split(' ')
  const largest = programScopes.findLast((scope) => words.includes(scope))
  if (!largest) throw new OAuthError('invalid_scope', `Ask for one of these scopes: ${programScopes.join(', ')}.`)
  return largest
}

/** A scope with those in it. */
export function writeScope(scope: ProgramScope): string {
  return programScopes.slice(0, programScopes.indexOf(scope) + 1).join(' ')
}
