/** A VM's environment variables: by key and source, sealed, with what each reader may see. */
import { allow, mayWrite, type Scope } from '#src/platform/access.ts'
import { BerthError, notFound } from '#src/platform/errors.ts'
import { limits } from '#src/platform/limits.ts'
import { change, findAll, getOne, sql, transaction, type Db, type Tx } from '#src/platform/postgres.ts'
import type { Row } from '#src/platform/postgres/rows.ts'
import type { Background, Call } from '#src/platform/services.ts'
import { lockVm, noteEnvChange } from './vms/rows.ts'

/** How much of a value its readers see. */
export const visibilities = ['plaintext', 'sensitive', 'secret'] as const
export type Visibility = (typeof visibilities)[number]
/** Who set a variable. */
export type EnvSource = 'user' | 'provision' | 'system' | 'session' | 'vault' | 'link'

/** One variable as its reader sees it. */
export type EnvVariable = { key: string; value: string; visibility: Visibility; source: EnvSource }
/** All variables after a change, and what to know about when it applies. */
export type EnvChange = { env: Record<string, string>; warning: string | null }

type EnvRow = Pick<
  Row<'vm_env', { source: EnvSource; visibility: Visibility }>,
  'key' | 'source' | 'visibility' | 'sealedValue'
>

const hidden = '********'
const keyShape = /^[A-Za-z_][A-Za-z0-9_]{0,127}$/
const readableSources: readonly EnvSource[] = ['user', 'system', 'session', 'vault', 'link']
/** Where two sources set one key, the later in this order wins. */
const precedence: readonly EnvSource[] = ['system', 'link', 'provision', 'vault', 'session', 'user']
const reservedPrefixes = ['BERTH_', 'SYSTEM_', 'LD_', 'DYLD_', 'GIT_CONFIG']
/** Variables that change what every program loads or runs. From PERL5OPT on it is the same trick in other languages. */
const reservedKeys = new Set([
  'PATH',
  'IFS',
  'BASH_ENV',
  'ENV',
  'PROMPT_COMMAND',
  'NODE_OPTIONS',
  'PYTHONPATH',
  'PERL5OPT',
  'PERL5LIB',
  'RUBYOPT',
  'RUBYLIB',
  'PYTHONSTARTUP',
  'PYTHONHOME',
  'SHELLOPTS',
  'BASHOPTS',
  'PS4',
  'GIT_SSH',
  'GIT_SSH_COMMAND',
  'JAVA_TOOL_OPTIONS',
  '_JAVA_OPTIONS',
])

/**
 * Checks variables that a caller sets.
 * @throws BerthError invalid_env_key or invalid_env_value; nothing of the body is used then. Values are never shown.
 */
export function checkEnv(variables: Readonly<Record<string, string>>, visibility: Visibility): void {
  const entries = Object.entries(variables)
  if (entries.length > limits.envVarsPerVm)
    throw new BerthError('invalid_env_key', `A VM has at most ${limits.envVarsPerVm} variables.`)
  let totalBytes = 0
  for (const [key, value] of entries) {
    if (!keyShape.test(key))
      throw new BerthError(
        'invalid_env_key',
        'A key must have 1 to 128 letters, digits and underscores, and must not begin with a digit.',
      )
    const upper = key.toUpperCase()
    if (reservedKeys.has(upper) || reservedPrefixes.some((prefix) => upper.startsWith(prefix)))
      throw new BerthError('invalid_env_key', `The key ${key} is reserved; choose another name.`)
    const bytes = Buffer.byteLength(value)
    if (value.includes('\0'))
      throw new BerthError('invalid_env_value', `The value of ${key} contains a NUL character; remove it.`)
    if (!value.isWellFormed())
      throw new BerthError('invalid_env_value', `The value of ${key} is not well-formed Unicode.`)
    if (/[\r\n]/.test(value) && visibility === 'plaintext')
      throw new BerthError(
        'invalid_env_value',
        `The value of ${key} contains line breaks; store it with visibility sensitive or secret.`,
      )
    if (/^\s*\(\)\s*\{/.test(value))
      throw new BerthError(
        'invalid_env_value',
        `The value of ${key} looks like a shell function, which a shell would run; it is refused.`,
      )
    if (bytes > limits.envValueBytes)
      throw new BerthError(
        'invalid_env_value',
        `The value of ${key} is larger than ${limits.envValueBytes / 1024} KiB.`,
      )
    totalBytes += bytes + key.length
  }
  if (totalBytes > limits.envTotalBytes)
    throw new BerthError(
      'invalid_env_value',
      `All variables together may have at most ${limits.envTotalBytes / 1024} KiB.`,
    )
}

/** Checks a body that should be a flat object from text to text. */
function readEnv(body: unknown): Record<string, string> {
  if (typeof body !== 'object' || body === null || Array.isArray(body))
    throw new BerthError('invalid_request', 'Send a JSON object from text to text: {"KEY": "value"}.')
  for (const [key, value] of Object.entries(body))
    if (typeof value !== 'string')
      throw new BerthError('invalid_env_value', `The value of ${key.slice(0, limits.envKeyLength)} must be text.`)
  return body as Record<string, string> // checked just above
}

/** Reads the visibility of a request. */
function readVisibility(text: string | null | undefined): Visibility | null {
  if (text === null || text === undefined) return null
  const found = visibilities.find((one) => one === text)
  if (!found) throw new BerthError('invalid_request', 'visibility must be plaintext, sensitive or secret.')
  return found
}

/** All readable variables, or those of one source. `provision` is write-only, so it and unknown sources answer nothing. */
export async function listEnv(call: Call, vmId: string, source: string | null | undefined): Promise<EnvVariable[]> {
  const scope = allow(call.caller, 'env:read')
  return transaction(call.db, async (tx) =>
    readVariables(call, scope, tx, (await lockVm(tx, scope, vmId, 'share')).id, source),
  )
}

/** One variable. @throws BerthError not_found when there is none of this key. */
export async function getEnv(call: Call, vmId: string, key: string): Promise<EnvVariable> {
  const found = (await listEnv(call, vmId, null)).findLast((one) => one.key === key)
  if (!found) throw notFound('variable')
  return found
}

/** Sets variables and keeps the others. Without a visibility, existing keys keep theirs and new ones are sensitive. */
export async function patchEnv(
  call: Call,
  vmId: string,
  given: unknown,
  visibility: string | null | undefined,
): Promise<EnvChange> {
  const scope = allow(call.caller, 'env:write') // before the body is read: 401 and 403 go before 400
  const variables = readEnv(given)
  const seenAs = readVisibility(visibility)
  checkEnv(variables, seenAs ?? 'sensitive')
  return changeEnv(call, scope, vmId, (tx, id) => writeVariables(call, tx, id, 'user', variables, seenAs))
}

/** Sets exactly these variables of source `user`; other sources stay. Without a visibility they are sensitive. */
export async function replaceEnv(
  call: Call,
  vmId: string,
  given: unknown,
  visibility: string | null | undefined,
): Promise<EnvChange> {
  const scope = allow(call.caller, 'env:write') // as above
  const variables = readEnv(given)
  const seenAs = readVisibility(visibility) ?? 'sensitive'
  checkEnv(variables, seenAs)
  return changeEnv(call, scope, vmId, async (tx, id) => {
    await change(tx, sql`delete from vm_env where vm_id = ${id} and source = 'user'`)
    await writeVariables(call, tx, id, 'user', variables, seenAs)
  })
}

/** Deletes a variable of source `user`. @throws BerthError not_found. */
export async function deleteEnv(call: Call, vmId: string, key: string): Promise<EnvChange> {
  return changeEnv(call, allow(call.caller, 'env:write'), vmId, async (tx, id) => {
    // A text that is no key is not asked for: Postgres refuses NUL with an error of its own.
    const gone = keyShape.test(key)
      ? await change(tx, sql`delete from vm_env where vm_id = ${id} and key = ${key} and source = 'user'`)
      : 0
    if (gone === 0) throw notFound('variable')
  })
}

/** Stores variables in the transaction; the caller has checked them. */
export async function writeVariables(
  { sealer }: Pick<Background, 'sealer'>,
  tx: Tx,
  vmId: string,
  source: EnvSource,
  variables: Readonly<Record<string, string>>,
  visibility: Visibility | null,
): Promise<void> {
  const entries = Object.entries(variables)
  if (entries.length === 0) return
  const sealed = entries.map(([key, value]) => sealer.seal(value, placeOf(vmId, source, key)))
  await change(
    tx,
    sql`
    insert into vm_env as held (vm_id, key, source, visibility, sealed_value)
    select ${vmId}, key, ${source}, ${visibility ?? 'sensitive'}, sealed_value from unnest(${entries.map(([key]) => key)}::text[], ${sealed}::bytea[]) as given (key, sealed_value)
    on conflict (vm_id, source, key) do update set sealed_value = excluded.sealed_value, updated_at = now(),
      visibility = ${visibility === null ? sql`held.visibility` : sql`excluded.visibility`}`,
  )
  const { count, bytes } = await getOne<{ count: number; bytes: number }>(
    tx,
    sql`select count(*) as count, sum(length(sealed_value) + length(key)) as bytes from vm_env where vm_id = ${vmId} and source = ${source}`,
  )
  if (count > limits.envVarsPerVm)
    throw new BerthError('invalid_env_key', `A VM has at most ${limits.envVarsPerVm} variables; delete some first.`)
  const sealingBytes = 33
  if (bytes - count * sealingBytes > limits.envTotalBytes)
    throw new BerthError(
      'invalid_env_value',
      `All variables together may have at most ${limits.envTotalBytes / 1024} KiB; delete some first.`,
    )
}

/** Removes every variable of a VM that is gone: its secrets go with it. */
export async function forgetVariables(tx: Tx, vmId: string): Promise<void> {
  await change(tx, sql`delete from vm_env where vm_id = ${vmId}`)
}

/** What a process in the VM is given: every source, merged. For the node only. */
export async function openEnv(
  { db, sealer }: Pick<Background, 'db' | 'sealer'>,
  vmId: string,
): Promise<Record<string, string>> {
  const rows = await findAll<EnvRow>(
    db,
    sql`select key, source, visibility, sealed_value from vm_env where vm_id = ${vmId}`,
  )
  rows.sort((a, b) => precedence.indexOf(a.source) - precedence.indexOf(b.source))
  return Object.fromEntries(
    rows.map((row) => [row.key, sealer.open(row.sealedValue, placeOf(vmId, row.source, row.key))]),
  )
}

/** The values of a VM's variables that nobody may read. For Berth itself, which keeps them out of what it stores. */
export async function openSecretVariables(
  { db, sealer }: Pick<Background, 'db' | 'sealer'>,
  vmId: string,
): Promise<string[]> {
  const rows = await findAll<EnvRow>(
    db,
    sql`select key, source, visibility, sealed_value from vm_env where vm_id = ${vmId} and visibility = 'secret' order by source, key`,
  )
  return rows.map((row) => sealer.open(row.sealedValue, placeOf(vmId, row.source, row.key)))
}

async function changeEnv(
  call: Call,
  scope: Scope,
  publicId: string,
  write: (tx: Tx, vmId: string) => Promise<void>,
): Promise<EnvChange> {
  return transaction(call.db, async (tx) => {
    const vm = await lockVm(tx, scope, publicId, 'update')
    await write(tx, vm.id)
    await noteEnvChange(tx, vm.id)
    const env = asMap(await readVariables(call, scope, tx, vm.id, null))
    const warning =
      vm.status === 'running'
        ? 'running processes keep their old environment'
        : 'VM is not running; changes apply at next start'
    return { env, warning }
  })
}

async function readVariables(
  { sealer }: Pick<Background, 'sealer'>,
  scope: Scope,
  db: Db,
  vmId: string,
  source: string | null | undefined,
): Promise<EnvVariable[]> {
  const sources =
    source === null || source === undefined ? readableSources : readableSources.filter((one) => one === source)
  const rows = await findAll<EnvRow>(
    db,
    sql`select key, source, visibility, sealed_value from vm_env where vm_id = ${vmId} and source = any(${sources}) order by key`,
  )
  rows.sort((a, b) => precedence.indexOf(a.source) - precedence.indexOf(b.source))
  const clear = (row: EnvRow): boolean =>
    row.visibility === 'plaintext' || (row.visibility === 'sensitive' && mayWrite(scope))
  return rows.map((row) => ({
    key: row.key,
    source: row.source,
    visibility: row.visibility,
    value: clear(row) ? sealer.open(row.sealedValue, placeOf(vmId, row.source, row.key)) : hidden,
  }))
}

/** The variables as the documented object; where two sources set a key, the one that wins in the VM. */
export function asMap(variables: readonly EnvVariable[]): Record<string, string> {
  return Object.fromEntries(variables.map(({ key, value }) => [key, value]))
}

function placeOf(vmId: string, source: EnvSource, key: string): string {
  return `vm_env.value:${vmId}:${source}:${key}`
}
