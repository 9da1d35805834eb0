/** Projects, VMs, databases, functions and domains, as files describe them. */
import { at, listAt, textAt, type Row } from '../values.ts'
import { idIn, mutate, removeBy, said, split, type Fields, type Section, type Work } from '../section.ts'
import { networkPolicyOf } from './networks.ts'

const inUse = (row: Row): boolean => !['DELETED', 'DELETING'].includes(String(row['status']))
const pairsOf = (list: unknown[]): Fields =>
  Object.fromEntries(list.map((one) => [String(at(one, 'key')), at(one, 'value')]))

/** Projects. */
export const projects: Section = {
  one: 'project',
  root: 'projects',
  select: 'name',
  nameIn: 'name',
  refersTo: [],
  shown: () => ({}),
  create: async (work, name) => (await mutate(work, 'createProject', { name }, 'project { id }')).id,
  change: () => Promise.resolve(), // it has no fields
  remove: (work, { id }) => removeBy(work, 'deleteProject', id),
}

/** VMs. */
export const vms: Section = {
  one: 'VM',
  root: 'vms',
  select: `name status ownerId expiresAt project { id name } templateId template { name } vcpuCount memoryMb diskMb idleSeconds idleAction metadata externalRef
    networkPolicy { type ... on LimitedNetworkPolicy { allowPackageManagers allowedHosts } }`,
  nameIn: 'name',
  refersTo: ['projects'],
  hasProject: true,
  isNamedInProject: true,
  isGone: (row) => !inUse(row) || row['ownerId'] !== null, // a person's own are those of sessions
  staysBecause: (row) => (row['expiresAt'] === null ? undefined : 'it deletes itself'),
  late: {
    env: { select: 'vm(id: $id) { env(source: USER) { key value } }', shown: (row) => pairsOf(listAt(row, 'env')) },
  },
  shown: (row) => ({
    templateId: textAt(row, 'template', 'name') ?? row['templateId'],
    vcpuCount: row['vcpuCount'],
    memoryMb: row['memoryMb'],
    diskMb: row['diskMb'],
    idleSeconds: row['idleSeconds'],
    idleAction: row['idleAction'],
    metadata: row['metadata'],
    externalRef: row['externalRef'],
    networkPolicy: networkPolicyOf(row['networkPolicy']),
  }),
  isSame: (field, wanted, row) =>
    field === 'templateId' &&
    (wanted === row['templateId'] || (wanted === null && textAt(row, 'template', 'name') === 'base'))
      ? true
      : undefined,
  onlyNew: ['gitRepoUrl', 'gitBranch', 'gitRepos', 'skipFolderCreate', 'ttlSeconds'],
  fixed: {
    templateId: 'A VM keeps its template: describe one of another name, or delete this one first.',
    externalRef: 'A VM keeps its externalRef: describe one of another name, or delete this one first.',
  },
  grows: ['diskMb'],
  hidden: ['env'],
  async create(work, name, fields) {
    const [{ env }, input] = split(fields, ['env', 'project'])
    const projectId = idIn(work, 'projects', fields['project'])
    const made = await mutate(
      work,
      'createVm',
      { ...input, ...said({ projectId }), name, wait: work.isWaiting },
      'vm { id }',
    )
    if (env !== undefined) await setEnv(work, made.id, env)
    return made.id
  },
  async change(work, { id }, fields) {
    const [{ env }, changes] = split(fields, ['env'])
    if (env !== undefined) await setEnv(work, id, env)
    if (Object.keys(changes).length > 0) await mutate(work, 'updateVm', { id, ...changes }, 'vm { id }')
  },
  remove: (work, { id }) => removeBy(work, 'deleteVm', id),
}

async function setEnv(work: Work, vmId: string, env: unknown): Promise<void> {
  await mutate(work, 'replaceVmEnv', { vmId, env: env ?? {}, visibility: 'SENSITIVE' }, 'vm { id }')
}

const deployed = ['code', 'buildId', 'startCommand', 'port']

/** Functions. */
export const functions: Section = {
  one: 'function',
  root: 'functions',
  select:
    'name status vcpuCount memoryMb idleSeconds startSeconds currentVersion { revision buildId startCommand port }',
  nameIn: 'name',
  refersTo: [],
  isGone: (row) => !inUse(row),
  late: {
    variables: {
      select: 'function(id: $id) { variables { key value } }',
      shown: (row) => pairsOf(listAt(row, 'variables')),
    },
  },
  shown: (row) => ({
    vcpuCount: row['vcpuCount'],
    memoryMb: row['memoryMb'],
    idleSeconds: row['idleSeconds'],
    startSeconds: row['startSeconds'],
    code: at(row, 'currentVersion', 'revision'),
    buildId: at(row, 'currentVersion', 'buildId'),
    startCommand: at(row, 'currentVersion', 'startCommand'),
    port: at(row, 'currentVersion', 'port'),
  }),
  patched: ['variables'],
  hidden: ['variables'],
  unexported: deployed,
  async create(work, name, fields) {
    const input = await withCode(work, name, fields)
    return (await mutate(work, 'createFunction', { ...input, name }, 'function { id }')).id
  },
  async change(work, row, fields, all) {
    const [isDeployed, settings] = split(fields, deployed)
    const { id } = row
    if (Object.keys(settings).length > 0) await mutate(work, 'updateFunction', { id, ...settings }, 'function { id }')
    if (Object.keys(isDeployed).length === 0) return
    const input = await withCode(work, String(row['name']), split(all, deployed)[0])
    await mutate(work, 'deployFunction', { id, ...input }, 'function { id }')
  },
  remove: (work, { id }) => removeBy(work, 'deleteFunction', id),
}

/** The input with the code put where Berth finds it, and marked with its digest, which is what the plan has for it. */
async function withCode(work: Work, name: string, fields: Fields): Promise<Fields> {
  const [{ code }, input] = split(fields, ['code'])
  return typeof code === 'string' ? { ...input, binaryUrl: await work.uploadCode(name), revision: code } : input
}

/** Databases. */
export const databases: Section = {
  one: 'database',
  root: 'databases',
  select: `name status project { id name } function { id name } networkName vcpuCount memoryMb diskMb sleepAfterSeconds
    isClientModeEnabled settings`,
  nameIn: 'name',
  refersTo: ['projects', 'functions'],
  hasProject: true,
  isGone: (row) => !inUse(row),
  shown: (row, nameOf) => ({
    project: textAt(row, 'project', 'name') ?? null,
    vcpuCount: row['vcpuCount'],
    memoryMb: row['memoryMb'],
    diskMb: row['diskMb'],
    sleepAfterSeconds: row['sleepAfterSeconds'] ?? 0,
    clientModeEnabled: row['isClientModeEnabled'],
    networkName: row['networkName'],
    settings: row['settings'],
    function: nameOf('functions', at(row, 'function', 'id'), at(row, 'function', 'name')),
  }),
  fixed: {
    project:
      'Names of databases are unique in the organization. Choose another one, or move it: moveDatabaseToProject.',
  },
  grows: ['diskMb'],
  patched: ['settings'],
  async create(work, name, fields) {
    const [references, input] = split(fields, ['project', 'function'])
    const projectId = idIn(work, 'projects', references['project'])
    const functionId = idIn(work, 'functions', references['function'])
    const all = { ...input, ...said({ projectId, functionId }), name, wait: work.isWaiting }
    return (await mutate(work, 'createDatabase', all, 'database { id }')).id
  },
  async change(work, row, fields) {
    const { id } = row
    const [{ function: named, networkName, clientModeEnabled }, others] = split(fields, [
      'function',
      'networkName',
      'clientModeEnabled',
    ])
    const changes = said({ ...others, functionId: idIn(work, 'functions', named) })
    if (Object.keys(changes).length > 0) await mutate(work, 'updateDatabase', { id, ...changes }, 'database { id }')
    if (networkName !== undefined) {
      const projectId = textAt(row, 'project', 'id') ?? null
      await mutate(work, 'moveDatabaseToProject', { id, projectId, networkName }, 'database { id }')
    }
    if (clientModeEnabled !== undefined) {
      const access = clientModeEnabled === true ? 'enableDatabaseClientAccess' : 'disableDatabaseClientAccess'
      await mutate(work, access, { id }, 'database { id }')
    }
  },
  remove: (work, { id }) => removeBy(work, 'deleteDatabase', id),
}

/** Domains. Their names are unique. */
export const domains: Section = {
  one: 'domain',
  root: 'domains',
  select: 'name path vmPort vm { id name } function { id name }',
  nameIn: 'name',
  refersTo: ['vms', 'functions'],
  shown(row, nameOf) {
    const vm = nameOf('vms', at(row, 'vm', 'id'), at(row, 'vm', 'name'))
    return {
      path: row['path'],
      vm: vm === null ? null : `${vm}:${String(row['vmPort'])}`,
      function: nameOf('functions', at(row, 'function', 'id'), at(row, 'function', 'name')),
    }
  },
  async create(work, name, fields) {
    const target = targetIn(work, fields)
    const [path] = split(fields, ['path'])
    const made = await mutate(
      work,
      'createDomain',
      { domain: name, ...path, ...('vmId' in target ? target : {}) },
      'domain { id }',
    )
    if ('functionId' in target) await mutate(work, 'linkDomain', { domain: name, ...target }, 'domain { id }')
    return made.id
  },
  async change(work, row, fields, all) {
    const domain = String(row['name'])
    const isMoved = 'vm' in fields || 'function' in fields
    const own = { ...ownTarget(row), ...('path' in fields ? { path: fields['path'] } : {}) }
    const target = isMoved ? targetIn(work, all) : own
    if (isMoved && Object.keys(ownTarget(row)).length > 0)
      await mutate(work, 'unlinkDomain', { domain }, 'domain { id }')
    if ('vmId' in target || 'functionId' in target)
      await mutate(work, 'linkDomain', { domain, ...target, ...split(fields, ['path'])[0] }, 'domain { id }')
  },
  remove: (work, row) => removeBy(work, 'deleteDomain', String(row['name']), 'domain'),
}

function targetIn(work: Work, { vm, function: named }: Fields): Fields {
  if (typeof vm === 'string') {
    const colon = vm.lastIndexOf(':')
    return { vmId: work.idOf('vms', vm.slice(0, colon)), vmPort: Number(vm.slice(colon + 1)) }
  }
  return typeof named === 'string' ? { functionId: work.idOf('functions', named) } : {}
}

function ownTarget(row: Row): Fields {
  const vmId = textAt(row, 'vm', 'id')
  if (vmId !== undefined) return { vmId, vmPort: row['vmPort'] }
  const functionId = textAt(row, 'function', 'id')
  return functionId === undefined ? {} : { functionId }
}
