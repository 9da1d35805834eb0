/** What a trigger is created and changed with, read and checked. */
import { z } from 'zod'
import { BerthError } from '#src/platform/errors.ts'
import { codeHostLimits } from '#src/platform/limits/code-host.ts'
import { readShape } from '#src/platform/shapes/fields.ts'
import { input } from '#src/platform/shapes/inputs.ts'
import type { StartDeploymentInput } from '#src/resources/agents/deployments/fields.ts'
import type { StartAgentInput } from '#src/resources/agents/starts/fields.ts'
import { checkName } from '#src/resources/infra/code-host.ts'
import { eventOf, filteredEvents, type EventName } from './events.ts'
import { triggerLimits } from './limits.ts'
import { authorAssociations, type TriggerFilters } from './rows.ts'

/** A repository by its name. */
export type RepositoryName = { owner: string; repo: string }

/** Reads `owner/name`. @throws BerthError invalid_request. */
export function readRepo(given: unknown): RepositoryName {
  const [owner = '', repo = '', ...more] =
    typeof given === 'string' && given.length <= codeHostLimits.nameLength * 2 + 1 ? given.split('/') : []
  if (owner === '' || repo === '' || more.length > 0)
    throw new BerthError('invalid_request', 'repo must be the owner and the name of a repository: `owner/name`.', {
      field: 'repo',
    })
  checkName('the owner in repo', owner)
  checkName('the name in repo', repo)
  return { owner, repo }
}

const { patternsMax, patternLength, patternSegments, prefixLength } = triggerLimits
const pattern = z
  .string()
  .min(1)
  .max(patternLength, { abort: true }) // what is longer is not looked through
  .refine((text) => !text.startsWith('!'), 'it must not begin with `!`: name what is wanted')
  .refine((text) => text.split('/').length <= patternSegments, `it has more than ${patternSegments} parts`)
  .refine((text) => !text.includes('\0') && text.isWellFormed(), 'it has characters that no name has')
const patterns = z.array(pattern).min(1).max(patternsMax).nullish()
const association: z.ZodType<TriggerFilters['author_associations'][number], string> = z.enum(authorAssociations)
const shape = input({
  branches: patterns,
  paths: patterns,
  labels: z.array(z.string().min(1).max(patternLength)).min(1).max(patternsMax).nullish(),
  comment_prefix: z.string().min(1).max(prefixLength).nullish(),
  allow_forks: z.boolean().nullish(),
  allow_bots: z.boolean().nullish(),
  author_associations: z.array(association).max(authorAssociations.length).nullish(),
})
const trusted: TriggerFilters['author_associations'] = ['OWNER', 'MEMBER', 'COLLABORATOR']

/** The input of a trigger; an absent key stays as it is. */
export type TriggerInput = {
  name?: string | null
  agent?: StartAgentInput | null
  repo?: string | null
  events?: readonly string[] | null
  deployment?: StartDeploymentInput | null
  enabled?: boolean | null
  filters?: z.input<typeof shape> | null
}

/** The filters, if each of them concerns one of these events. @throws BerthError invalid_request. */
export function concerning(filters: TriggerFilters, events: readonly string[]): TriggerFilters {
  for (const name of ['branches', 'paths', 'labels', 'comment_prefix'] as const) {
    const concerned: readonly EventName[] = filteredEvents[name]
    if (filters[name] && !events.some((event) => concerned.includes(eventOf(event))))
      throw new BerthError(
        'invalid_request',
        `filters.${name} looks at nothing: events has none of ${concerned.join(', ')}. Add one, or leave the filter out.`,
        { field: 'filters' },
      )
  }
  return filters
}

/** Reads the filters of a trigger, with every default filled in. @throws BerthError invalid_request. */
export function readFilters(given: TriggerInput['filters']): TriggerFilters {
  const read = readShape(shape, given ?? {}, 'filters')
  return {
    branches: read.branches ?? null,
    paths: read.paths ?? null,
    labels: read.labels ?? null,
    comment_prefix: read.comment_prefix ?? null,
    allow_forks: read.allow_forks ?? false,
    allow_bots: read.allow_bots ?? false,
    author_associations: [...new Set(read.author_associations ?? trusted)],
  }
}

/** Reads a flag; absent means the usual. @throws BerthError invalid_request. */
export function readFlag(given: boolean | null | undefined, usual: boolean, field: string): boolean {
  if (given === undefined) return usual
  if (typeof given === 'boolean') return given
  throw new BerthError('invalid_request', `${field} must be true or false.`, { field })
}
