/** `berth vault`. */
import type { Berth } from '../../src/client/berth.ts'
import { UsageError } from '../errors.ts'
import type { Noun, Verb } from '../grammar.ts'
import { newKey } from '../keys.ts'
import { ageOf } from '../output.ts'
import { finderOf, getOf, lsOf, rmOf, type PlainNoun } from '../plain.ts'
import { ask, isInteractive, readStdin } from '../prompts.ts'
import { lineOf } from '../text.ts'

type Vaults = Berth['vaults']
type VaultRow = Awaited<ReturnType<Vaults['list']>>['nodes'][number]

/** Vaults, as the usual verbs know them. */
export const vaultNoun: PlainNoun<VaultRow, Vaults> = {
  one: 'vault',
  argument: 'vault',
  part: (berth) => berth.vaults,
  nameOf: (row) => row.displayName,
  columns: [
    ['NAME', (row) => row.displayName],
    ['ID', (row) => row.id],
    ['CHANGED', (row) => ageOf(row.updatedAt)],
  ],
}

const create: Verb = {
  name: 'create',
  args: '<name>',
  about: 'create a vault',
  async run(cli, [displayName = '']) {
    const made = await (await cli.berth()).vaults.create({ displayName }, { idempotencyKey: newKey() })
    cli.out.result(made, made.id)
  },
}

const set: Verb = {
  name: 'set',
  args: '<vault> <variable>',
  about: 'put a secret into a vault as an environment variable; its value comes from stdin',
  options: [['--host <name>', 'a host that it may be sent to', 'many']],
  async run(cli, [text, secretName = ''], options) {
    const vaultId = await finderOf(vaultNoun)(cli, text)
    const allowedHosts = options.texts('host')
    if (allowedHosts.length === 0) throw new UsageError('Pass --host for each host that the secret may be sent to.')
    const secretValue = isInteractive()
      ? await ask('Value (it is shown as you type):', { flag: 'the value on stdin' })
      : (await readStdin()).replace(/\r?\n$/, '')
    if (secretValue === '') throw new UsageError('There is no value on stdin.')
    const { credentials } = (await cli.berth()).vaults
    const made = await credentials.create(
      {
        vaultId,
        displayName: secretName,
        auth: { environmentVariable: { secretName, secretValue, networking: { limited: { allowedHosts } } } },
      },
      { idempotencyKey: newKey() },
    )
    cli.out.result(made, `${lineOf(secretName)}  ${made.id}`)
  },
}

/** Vaults. */
export const vault: Noun = {
  verbs: [lsOf(vaultNoun), create, getOf(vaultNoun), set, rmOf(vaultNoun, (berth, id) => berth.vaults.delete(id))],
}
