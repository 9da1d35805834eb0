/** Each table has one owner: only its files write the table. And no floor above the resources writes SQL at all. */
import { readFileSync } from 'node:fs'
import { parseAst } from 'vitest/node'
import { describe, expect, test } from 'vitest'
import { importsOf, productFolders, readSources, root, type Source } from './sources.ts'

/**
 * The owner of each table. A noun is its file and the folder beside it: `src/resources/infra/vms` is `vms.ts` and
 * `vms/`. Whoever else wants a row changed calls a function of the owner, in the same transaction; reading, joins too,
 * is free.
 */
const owners: Readonly<Record<string, readonly string[]>> = {
  'src/platform/idempotency': ['idempotency_keys'],
  'src/platform/migrate': ['migrations'],
  'src/platform/rate-limits': ['rate_buckets'],
  'src/platform/metrics/rooms': ['stored_bytes', 'stored_changes'],
  'src/resources/identity/api-keys': ['api_keys'],
  'src/resources/identity/authorizations': [
    'authorization_requests',
    'authorization_tokens',
    'authorizations',
    'oauth_clients',
  ],
  'src/resources/identity/browser-sessions': ['browser_sessions'],
  'src/resources/identity/identities': ['identities'],
  'src/resources/identity/invitations': ['invitations'],
  'src/resources/identity/joining': ['organizations', 'users'],
  'src/resources/identity/memberships': ['memberships'],
  'src/resources/identity/audit-events': ['audit_events'], // its rows are made by triggers
  'src/resources/identity/organization-events': ['organization_events'], // its rows are made by triggers
  'src/resources/identity/signing-keys': ['signing_keys'],
  'src/resources/infra/backup-schedules': ['backup_schedules'],
  'src/resources/infra/builds': [
    'build_caches',
    'build_events',
    'build_jobs',
    'build_log_lines',
    'build_runs',
    'build_secrets',
  ],
  'src/resources/infra/certificates': ['acme_accounts', 'certificate_orders', 'certificates'],
  'src/resources/infra/database-auth-issuers': ['database_auth_issuers'],
  'src/resources/infra/code-host': ['code_host_links', 'code_host_states'],
  'src/resources/infra/databases': [
    'database_roles',
    'database_events',
    'database_metrics',
    'databases',
    'edge_acknowledgements',
    'edge_processes',
  ],
  'src/resources/infra/database-backups': ['database_backup_events', 'database_backup_roles', 'database_backups'],
  'src/resources/infra/database-restores': ['database_restore_events', 'database_restores'],
  'src/resources/infra/domains': ['domain_events', 'domains'],
  'src/resources/infra/folders': ['folders'],
  'src/resources/infra/functions': [
    'function_events',
    'function_instances',
    'function_log_lines',
    'function_logs',
    'function_pushes',
    'function_repositories',
    'function_versions',
    'functions',
  ],
  'src/resources/infra/nodes': ['nodes'],
  'src/resources/infra/projects': ['projects'],
  'src/resources/infra/proxies': ['proxies'],
  'src/resources/infra/routes': ['routes'],
  'src/resources/infra/templates': ['templates'],
  'src/resources/infra/terminals': ['terminal_tickets', 'terminals'],
  'src/resources/infra/tunnels': ['tunnel_tickets'],
  'src/resources/infra/uploads': ['uploads'],
  'src/resources/infra/usage': ['usage_sessions'],
  'src/resources/infra/webhooks': ['webhook_attempts', 'webhook_deliveries', 'webhook_endpoints', 'webhook_events'],
  'src/resources/infra/vms': ['vm_env', 'vm_events', 'vm_processes', 'vms'],
  'src/resources/llm/billing': [
    'credit_leases',
    'inference_accounts',
    'inference_days',
    'inference_grants',
    'inference_key_budgets',
    'inference_processes',
    'inference_requests',
  ],
  'src/resources/agents/agents': ['agent_versions', 'agents'],
  'src/resources/agents/deployments': ['deployment_runs', 'deployments'],
  'src/resources/agents/environments': ['environment_events', 'environments'],
  'src/resources/agents/files': ['files'],
  'src/resources/agents/groups': ['group_events', 'group_members', 'group_messages', 'group_runs', 'groups'],
  'src/resources/agents/peers': ['peer_exchange_events', 'peer_exchanges'],
  'src/resources/agents/skills': ['skills', 'skill_versions', 'skill_archives', 'vm_skills'],
  'src/resources/agents/sessions': [
    'session_calls',
    'session_events',
    'session_previews',
    'session_reasoning',
    'session_resources',
    'session_secrets',
    'sessions',
  ],
  'src/resources/agents/tasks': ['session_tasks', 'task_chunks', 'task_streams'],
  'src/resources/agents/triggers': ['trigger_deliveries', 'trigger_fires', 'triggers'],
  'src/resources/agents/mcp-tools': ['mcp_sessions'],
  'src/resources/agents/mcp-services': [
    'mcp_authorizations',
    'mcp_choices',
    'mcp_clients',
    'mcp_connection_events',
    'mcp_connections',
    'mcp_people',
  ],
  'src/resources/agents/memories': ['memories', 'memory_events', 'memory_spaces', 'memory_vectors'],
  'src/resources/agents/schedules': ['schedule_runs', 'schedules'],
  'src/resources/agents/vaults': ['vault_credentials', 'vault_events', 'vaults', 'vm_credentials'],
}

/** Files that write whatever table they are told, and why. */
const writersOfAny: Readonly<Record<string, string>> = {
  'src/platform/states.ts': 'writes the status column of any noun, whose owner calls it',
  'src/backup/tables.ts': 'puts a whole database back',
}

const product = readSources(productFolders)

/** A statement that writes: where it stands, and the table; `null` where that is put in while the process runs. */
type Write = { path: string; table: string | null }

/** What the files write, by their SQL and by the states that they declare. */
function writesOf({ path, text }: Source): Write[] {
  const statements = textsOf(text)
  const named = statements.flatMap((statement) =>
    [
      ...statement.matchAll(
        /\b(?:insert\s+into|delete\s+from|merge\s+into|truncate(?:\s+table)?|(?<!\b(?:for|key|do)\s+)update)\s+(?:only\s+)?("?[a-z_.]+"?|\?)/gi,
      ),
    ].map(([, table = '']) => ({
      path,
      table: table === '?' ? null : table.replaceAll('"', '').replace(/^public\./, ''),
    })),
  )
  return named.filter(({ table }) => table === null || tables.includes(table))
}

const tables = [
  ...readFileSync(`${root}/src/platform/tables.sql`, 'utf8').matchAll(/^create (?:unlogged )?table (\w+)/gm),
].map(([, name = '']) => name)

/** Every text of a file, a template as one with `?` for each value. Comments are none. */
function textsOf(code: string): string[] {
  const found: string[] = []
  const visit = (node: unknown): void => {
    if (typeof node !== 'object' || node === null) return
    if ('type' in node && node.type === 'TemplateLiteral') {
      const { quasis } = node as unknown as { quasis: { value: { cooked: string } }[] }
      found.push(quasis.map(({ value }) => value.cooked).join('?'))
    } else if ('type' in node && node.type === 'Literal' && 'value' in node && typeof node.value === 'string')
      found.push(node.value)
    for (const inner of Object.values(node)) visit(inner)
  }
  visit(parseAst(code, { lang: 'ts' }))
  return found
}

const isOf = (owner: string, path: string): boolean => path === `${owner}.ts` || path.startsWith(`${owner}/`)
const ownerOf = (table: string): string =>
  Object.keys(owners).find((owner) => owners[owner]?.includes(table)) ?? 'nobody'

describe('a table', () => {
  test('has one owner, each of them', () => {
    expect(tables.length).toBeGreaterThan(30)
    expect(Object.values(owners).flat().sort()).toEqual([...tables].sort())
  })

  const writes = product.flatMap(writesOf)

  test('is written by its owner only', () => {
    const wrong = writes
      .filter(({ path, table }) => (table === null ? !(path in writersOfAny) : !isOf(ownerOf(table), path)))
      .map(({ path, table }) => `${path} writes ${table ?? 'a table by its name'}, which is ${ownerOf(table ?? '')}'s`)
    expect(wrong).toEqual([])
  })

  test('is written by its owner, each of them', () => {
    const written = new Set(writes.map(({ table }) => table))
    expect(tables.filter((table) => !written.has(table))).toEqual([])
  })

  test('gets its rows moved between states by its owner only', () => {
    const machines = new Map(
      product.flatMap(({ text }) =>
        [...text.matchAll(/\bconst (\w+)[^=\n]*= states(?:<[^(]*>)?\(\s*'(\w+)'/g)].map(
          ([, name = '', table = '']) => [name, table] as const,
        ),
      ),
    )
    expect(machines.size).toBeGreaterThan(4)
    const wrong = product.flatMap(({ path, code }) =>
      [...code.matchAll(/\btransition(?:All)?(?:<[^(]*>)?\(\s*[\w.]+,\s*(\w+)/g)]
        .map(([, machine = '']) => machines.get(machine) ?? machine)
        .filter((table) => !isOf(ownerOf(table), path))
        .map((table) => `${path} moves ${table}`),
    )
    expect(wrong).toEqual([])
  })

  test('whose name is a variable is written where the list says, and nowhere else', () => {
    const anything = writes.filter(({ table }) => table === null).map(({ path }) => path)
    expect([...new Set(anything)].sort()).toEqual(Object.keys(writersOfAny).sort())
  })
})

/** A client of the Postgres in a guest, which has none of these tables. */
const guestClients = ['src/drivers/compute/guest/postgres.ts']

describe('SQL', () => {
  test('is written on no floor above the resources, and by no driver', () => {
    const above = product.filter(({ path }) =>
      /^(?:workers|schema|rest-compat|src\/drivers|src\/gateway|src\/identity)\//.test(path),
    )
    expect(above.length).toBeGreaterThan(60)
    const taking = above.filter(
      ({ text, code }) =>
        /\bfrom '(?:kysely|pg)'/.test(text) ||
        /import (?:type )?\{[^}]*\b(?:sql|findAll|findOne|getOne|change)\b[^}]*\} from '#src\/platform\/postgres/.test(
          text,
        ) ||
        /\bsql\s*(?:<[^`]*>)?`|\.query\(/.test(code),
    )
    expect(taking.map(({ path }) => path)).toEqual(guestClients)
  })
})

describe('billing', () => {
  test('has one entry point: nothing else imports from its folder', () => {
    const door = 'src/resources/llm/billing.ts'
    const behind = 'src/resources/llm/billing/'
    const outside = product.filter(({ path }) => path !== door && !path.startsWith(behind))
    expect(outside.filter((source) => importsOf(source).includes(door)).length).toBeGreaterThan(5)
    expect(
      outside.filter((source) => importsOf(source).some((path) => path.startsWith(behind))).map(({ path }) => path),
    ).toEqual([])
  })

  test('has its state in one place: only state.ts creates its parts, and only leases.ts decides what a process holds', () => {
    const making = product.filter(({ code }) =>
      /(?<!function )\b(?:createAccounts|createLeases|createLedgerQueue|createLedgerWriter|openBillingState)\(|new RunningRequest\(/.test(
        code,
      ),
    )
    expect(making.map(({ path }) => path)).toEqual([
      'src/resources/llm/billing.ts',
      'src/resources/llm/billing/state.ts',
    ])
    const holding = product.filter(({ code }) => /\.heldNanoUsd\s*[-+]?=(?!=)/.test(code))
    expect(holding.map(({ path }) => path)).toEqual(['src/resources/llm/billing/leases.ts'])
  })
})

describe('the scan itself', () => {
  const found = (text: string): (string | null)[] =>
    writesOf({ path: 'x.ts', text, code: text }).map(({ table }) => table)

  test('sees statements that write, alone, in a with, and with a table put in', () => {
    expect(found('sql`insert into vms (id) values (${id}) on conflict (id) do update set name = 1`')).toEqual(['vms'])
    expect(
      found('sql`with a as (\n  update\n  nodes set x = 1 returning id), b as (delete from only folders)`'),
    ).toEqual(['nodes', 'folders'])
    expect(found("client.query('truncate table vms')")).toEqual(['vms'])
    expect(found('sql`update ${sql.table(name)} set status = 1`')).toEqual([null])
  })

  test('is not misled by locks, comments and sentences', () => {
    expect(found('sql`select 1 from vms for update` // update vms')).toEqual([])
    expect(found('sql`select 1 from vms for no key update skip locked`')).toEqual([])
    expect(found("'Update this one first, or delete from here.'")).toEqual([])
  })
})
