/** Deployments, schedules and triggers, as files describe them. */
import { at, listAt, textAt, type Row } from '../values.ts'
import { idIn, mutate, removeBy, said, split, type Fields, type Namer, type Section, type Work } from '../section.ts'
import { configOf, configSelection } from './agents.ts'

const kickoffSelection = `{ text events { __typename
  ... on KickoffMessage { content { __typename ... on TextBlock { text } } }
  ... on KickoffSystemMessage { system: content { __typename ... on TextBlock { text } } }
  ... on KickoffOutcome { description maxIterations rubric } } }`

/** What a session is told first; null for none, and undefined for one that has more than texts. */
function kickoffOf(kickoff: unknown): Fields | null | undefined {
  if (kickoff === null || kickoff === undefined) return null
  const text = textAt(kickoff, 'text')
  if (text !== undefined) return { text }
  const events = listAt(kickoff, 'events').map(eventOf)
  return events.includes(undefined) ? undefined : { events }
}

function eventOf(event: unknown): Fields | undefined {
  const kind = at(event, '__typename')
  if (kind === 'KickoffOutcome') {
    const rubric = { text: { content: at(event, 'rubric') } }
    return {
      userDefineOutcome: { description: at(event, 'description'), maxIterations: at(event, 'maxIterations'), rubric },
    }
  }
  const blocks = listAt(event, kind === 'KickoffMessage' ? 'content' : 'system')
  if (blocks.some((block) => at(block, '__typename') !== 'TextBlock')) return undefined
  const content = blocks.map((block) => ({ text: { text: at(block, 'text') } }))
  return kind === 'KickoffMessage' ? { userMessage: { content } } : { systemMessage: { content } }
}

/** An agent as files name it: its name, with the version that is pinned. */
function agentOf(reference: unknown, nameOf: Namer): unknown {
  const name = nameOf('agents', at(reference, 'id'), at(reference, 'agent', 'name'))
  const version = at(reference, 'version')
  return name === null || typeof version !== 'number' ? name : { name, version }
}

function agentIn(work: Work, agent: unknown): Fields | null | undefined {
  if (agent === undefined || agent === null) return agent
  if (typeof agent === 'string') return { agent: { id: work.idOf('agents', agent) } }
  const { name, version } = agent as Fields // as the schema of files says
  return { agent: { id: work.idOf('agents', String(name)), ...said({ version }) } }
}

function deploymentIn(work: Work, deployment: unknown): Fields | null | undefined {
  const id = idIn(work, 'deployments', deployment)
  return typeof id === 'string' ? { id } : id
}

const isEventSet = (field: string, wanted: unknown, row: Row): boolean | undefined =>
  field === 'events' && Array.isArray(wanted)
    ? [...new Set(wanted.map(String))].sort().join() === listAt(row, 'events').map(String).sort().join()
    : undefined

/** Deployments. */
export const deployments: Section = {
  one: 'deployment',
  root: 'deployments',
  pageRows: 10,
  select: `name description metadata status archivedAt agentReference { id version agent { name } } vaults { id displayName }
    budget { maxListCost { amount currency } } kickoff ${kickoffSelection}
    environment { __typename ... on ExistingEnvironment { environmentId environment { name } } ... on EphemeralEnvironment { ${configSelection} } }`,
  nameIn: 'name',
  refersTo: ['agents', 'environments', 'vaults'],
  isGone: (row) => row['archivedAt'] !== null,
  shown: (row, nameOf) => ({
    agent: agentOf(row['agentReference'], nameOf),
    description: row['description'],
    environment: environmentOf(row['environment'], nameOf),
    vaults: listAt(row, 'vaults').map((one) => nameOf('vaults', at(one, 'id'), at(one, 'displayName'))),
    kickoff: kickoffOf(row['kickoff']),
    budget: row['budget'] ? { limit: row['budget'] } : null,
    status: row['status'],
    metadata: row['metadata'],
  }),
  patched: ['metadata'],
  create: async (work, name, fields) =>
    (await mutate(work, 'createDeployment', { name, ...deploymentInput(work, fields) }, 'deployment { id }')).id,
  async change(work, { id }, fields) {
    await mutate(work, 'updateDeployment', { id, ...deploymentInput(work, fields) }, 'deployment { id }')
  },
  remove: (work, { id }) => removeBy(work, 'deleteDeployment', id),
}

function environmentOf(environment: unknown, nameOf: Namer): unknown {
  const kind = at(environment, '__typename')
  if (kind === 'ExistingEnvironment')
    return nameOf('environments', at(environment, 'environmentId'), at(environment, 'environment', 'name'))
  if (kind !== 'EphemeralEnvironment') return { none: true }
  const config = configOf(at(environment, 'config'))
  return { ephemeral: config === null ? {} : { config } }
}

function deploymentInput(work: Work, fields: Fields): Fields {
  const [{ agent, environment, vaults }, others] = split(fields, ['agent', 'environment', 'vaults'])
  const isNamed = typeof environment === 'string'
  return said({
    ...others,
    agent: agentIn(work, agent),
    environment: isNamed ? { existing: { environmentId: work.idOf('environments', environment) } } : environment,
    vaultIds: Array.isArray(vaults) ? vaults.map((name) => work.idOf('vaults', String(name))) : undefined,
  })
}

/** Schedules. */
export const schedules: Section = {
  one: 'schedule',
  root: 'schedules',
  pageRows: 20,
  select: `name cron timezone isEnabled overlap ownAgentReference { id version agent { name } } deployment { id name } ownKickoff ${kickoffSelection}`,
  nameIn: 'name',
  refersTo: ['agents', 'deployments'],
  shown: (row, nameOf) => ({
    agent: row['ownAgentReference'] ? agentOf(row['ownAgentReference'], nameOf) : null,
    deployment: nameOf('deployments', at(row, 'deployment', 'id'), at(row, 'deployment', 'name')),
    cron: row['cron'],
    timezone: row['timezone'],
    kickoff: kickoffOf(row['ownKickoff']),
    overlap: row['overlap'],
    enabled: row['isEnabled'],
  }),
  isSame: (field, wanted, row) =>
    field === 'cron' && typeof wanted === 'string' ? wanted.trim().split(/\s+/).join(' ') === row['cron'] : undefined,
  fixed: {
    agent: 'A schedule keeps its agent: describe one of another name, and leave this one out with --prune-all.',
    deployment:
      'A schedule keeps its deployment: describe one of another name, and leave this one out with --prune-all.',
  },
  async create(work, name, fields) {
    const [{ agent, deployment }, others] = split(fields, ['agent', 'deployment'])
    const input = said({ ...others, name, agent: agentIn(work, agent), deployment: deploymentIn(work, deployment) })
    return (await mutate(work, 'createSchedule', input, 'schedule { id }')).id
  },
  async change(work, { id }, fields) {
    await mutate(work, 'updateSchedule', { id, ...fields }, 'schedule { id }')
  },
  remove: (work, { id }) => removeBy(work, 'deleteSchedule', id),
}

/** Triggers. */
export const triggers: Section = {
  one: 'trigger',
  root: 'triggers',
  select: `name repo events isEnabled agentReference { id version agent { name } } deployment { id name }
    filters { allowBots allowForks authorAssociations branches commentPrefix labels paths }`,
  nameIn: 'name',
  refersTo: ['agents', 'deployments'],
  shown: (row, nameOf) => ({
    agent: agentOf(row['agentReference'], nameOf),
    deployment: nameOf('deployments', at(row, 'deployment', 'id'), at(row, 'deployment', 'name')),
    repo: row['repo'],
    events: row['events'],
    filters: row['filters'],
    enabled: row['isEnabled'],
  }),
  isSame: (field, wanted, row) =>
    field === 'repo' && typeof wanted === 'string'
      ? wanted.toLowerCase() === String(row['repo']).toLowerCase()
      : isEventSet(field, wanted, row),
  create: async (work, name, fields) =>
    (await mutate(work, 'createTrigger', { name, ...triggerInput(work, fields) }, 'trigger { id }')).id,
  async change(work, { id }, fields) {
    await mutate(work, 'updateTrigger', { id, ...triggerInput(work, fields) }, 'trigger { id }')
  },
  remove: (work, { id }) => removeBy(work, 'deleteTrigger', id),
}

function triggerInput(work: Work, fields: Fields): Fields {
  const [{ agent, deployment }, others] = split(fields, ['agent', 'deployment'])
  return said({ ...others, agent: agentIn(work, agent), deployment: deploymentIn(work, deployment) })
}
