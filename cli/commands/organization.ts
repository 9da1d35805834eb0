/** `berth project`, `key`, `member` and `org`. */
import type { Berth } from '../../src/client/berth.ts'
import { exits, Failure, UsageError } from '../errors.ts'
import type { Noun, Verb } from '../grammar.ts'
import { given } from '../inputs.ts'
import { newKey } from '../keys.ts'
import { isId } from '../names.ts'
import { ageOf, word } from '../output.ts'
import { finderOf, getOf, lsOf, rmOf, type PlainNoun } from '../plain.ts'
import { lineOf } from '../text.ts'

type RowOf<Part extends { list(): Promise<{ nodes: unknown[] }> }> = Awaited<ReturnType<Part['list']>>['nodes'][number]

/** Projects, as the usual verbs know them. */
export const projectNoun: PlainNoun<RowOf<Berth['projects']>, Berth['projects']> = {
  one: 'project',
  argument: 'project',
  part: (berth) => berth.projects,
  nameOf: (row) => row.name,
  columns: [
    ['NAME', (row) => row.name],
    ['ID', (row) => row.id],
    ['AGE', (row) => ageOf(row.createdAt)],
  ],
}

/** Projects. */
export const project: Noun = {
  verbs: [
    lsOf(projectNoun),
    {
      name: 'create',
      args: '<name>',
      about: 'create a project',
      async run(cli, [name = '']) {
        const made = await (await cli.berth()).projects.create({ name }, { idempotencyKey: newKey() })
        cli.out.result(made, made.id)
      },
    },
    getOf(projectNoun),
    rmOf(projectNoun, (berth, id) => berth.projects.delete(id)),
  ],
}

const keys: PlainNoun<RowOf<Berth['keys']>, Berth['keys']> = {
  one: 'key',
  argument: 'key',
  part: (berth) => berth.keys,
  nameOf: (row) => (row.revokedAt ? null : row.name),
  columns: [
    ['NAME', (row) => row.name],
    ['ID', (row) => row.id],
    ['ENDS WITH', (row) => row.lastFour],
    ['USED', (row) => ageOf(row.lastUsedAt)],
    ['AGE', (row) => ageOf(row.createdAt)],
    ['STATE', (row) => (row.revokedAt ? 'revoked' : 'active')],
  ],
}

/** API keys. */
export const key: Noun = {
  verbs: [
    lsOf(keys),
    {
      name: 'create',
      args: '<name>',
      about: 'create a key, which is shown once',
      options: [['--expires <moment>', 'such as 2027-01-31']],
      async run(cli, [name = ''], options) {
        const made = await (await cli.berth()).keys.create(given({ name, expiresAt: options.text('expires') }), {
          idempotencyKey: newKey(),
        })
        cli.out.note(`${made.apiKey.id}. The key is shown this once:`)
        cli.out.result(made, made.key)
      },
    },
    rmOf(keys, (berth, id) => berth.keys.revoke(id)),
  ],
}

const members: PlainNoun<RowOf<Berth['members']>, Berth['members']> = {
  one: 'member',
  argument: 'member',
  part: (berth) => berth.members,
  nameOf: (row) => row.user?.name,
  columns: [
    ['NAME', (row) => row.user?.name],
    ['ID', (row) => row.id],
    ['ROLE', (row) => word(row.role)],
    ['EMAIL', (row) => row.email],
    ['SINCE', (row) => ageOf(row.createdAt)],
  ],
}

const roles = ['VIEWER', 'MEMBER', 'ADMIN', 'OWNER'] as const

/** @throws UsageError. */
function roleOf(text: string): (typeof roles)[number] {
  const role = roles.find((one) => one === text.toUpperCase())
  if (role) return role
  throw new UsageError(`A role is one of: ${roles.join(', ').toLowerCase()}.`)
}

const invite: Verb = {
  name: 'invite',
  args: '[email]',
  about: 'make a link for one person, which is shown once',
  options: [['--role <role>', 'viewer, member (by default), admin or owner']],
  async run(cli, [email], options) {
    const role = roleOf(options.text('role') ?? 'member')
    const made = await (await cli.berth()).members.invite(given({ email, role }), { idempotencyKey: newKey() })
    cli.out.result(made, lineOf(made.url))
  },
}

const changeRole: Verb = {
  name: 'role',
  args: '<member> <role>',
  about: 'change what a member may do: viewer, member, admin or owner',
  async run(cli, [text, asked = '']) {
    const role = roleOf(asked)
    const id = await finderOf(members)(cli, text)
    const changed = await (await cli.berth()).members.update({ id, role }, { idempotencyKey: newKey() })
    cli.out.result(changed, `${lineOf(changed.user?.name ?? changed.id)}  ${word(changed.role)}`)
  },
}

/** Members. */
export const member: Noun = {
  verbs: [lsOf(members), invite, changeRole, rmOf(members, (berth, id) => berth.members.remove(id))],
}

const organizationsOf = async (berth: Berth): Promise<{ id: string; name: string }[]> =>
  (await berth.viewer()).organizations.nodes

/** Organizations. */
export const org: Noun = {
  verbs: [
    {
      name: 'ls',
      about: 'your organizations; * is the one that commands act in',
      async run(cli) {
        const { organization, organizations } = await (await cli.berth()).viewer()
        cli.out.table(organizations.nodes, [
          ['', (row) => (row.id === organization?.id ? '*' : '')],
          ['NAME', (row) => row.name],
          ['ID', (row) => row.id],
        ])
      },
    },
    {
      name: 'create',
      args: '<name>',
      about: 'make an organization, whose owner you are',
      async run(cli, [name = '']) {
        const made = await (await cli.berth()).organizations.create({ name }, { idempotencyKey: newKey() })
        cli.out.note('To act in it, sign in again: berth login')
        cli.out.result(made, made.id)
      },
    },
    {
      name: 'use',
      args: '<organization>',
      about: 'act in this one from now on',
      async run(cli, [text = '']) {
        const found = (await organizationsOf(await cli.berth())).filter(({ id, name }) =>
          isId(text) ? id === text : name === text,
        )
        const [one, other] = found
        if (!one) throw new Failure(`You are in no organization '${lineOf(text)}'.`, exits.notFound)
        if (other) throw new UsageError(`Several have this name. Pass an id: ${found.map(({ id }) => id).join(', ')}`)
        cli.contexts.choose(cli.target().name, one.id)
        cli.out.result(one, `${lineOf(one.name)}  ${one.id}`)
      },
    },
  ],
}
