/** What a client has narrowed the tool server to, by the query of its address. */
import { BerthError } from '#src/platform/errors.ts'
import { features, type Feature, type Tool } from './tool.ts'

/** What is left. */
export type Scope = { isReadOnly: boolean; projectId: string | null; features: ReadonlySet<Feature> }

const known = ['read_only', 'project', 'features']

/** @throws BerthError invalid_request naming what is not understood: whoever asks for less must not get more. */
export function readScope(query: unknown): Scope {
  const given = Object.entries(query as Record<string, unknown>)
  for (const [name, value] of given)
    if (!known.includes(name) || typeof value !== 'string')
      throw new BerthError(
        'invalid_request',
        `${name} is not understood here. Give read_only=1, project=<id> or features=<names>, each once.`,
        { field: name },
      )
  const { read_only: readOnly, project, features: named } = Object.fromEntries(given) as Record<string, string>
  if (readOnly !== undefined && !['1', 'true', '0', 'false'].includes(readOnly))
    throw new BerthError('invalid_request', 'read_only must be 1 or 0.', { field: 'read_only' })
  const wanted = named?.split(',').map((one) => one.trim())
  const strange = wanted?.find((one) => !features.includes(one as Feature))
  if (strange !== undefined)
    throw new BerthError('invalid_request', `There is no feature "${strange}". There are ${features.join(', ')}.`, {
      field: 'features',
    })
  return {
    isReadOnly: readOnly === '1' || readOnly === 'true',
    projectId: project ?? null,
    features: new Set((wanted ?? features) as Feature[]),
  }
}

/** Whether a tool is offered. */
export function offers(scope: Scope, { feature, effect, keepsToProject }: Tool): boolean {
  if (!scope.features.has(feature) || (scope.isReadOnly && effect !== 'reads')) return false
  return scope.projectId === null || keepsToProject
}
