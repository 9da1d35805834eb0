/** `berth login` and `berth logout`: a context with its credential. */
import { compareVersions } from './commands/status.ts'
import { connect } from './connect.ts'
import type { Credential } from './credentials.ts'
import { exitOf, exits, Failure, sentenceOf } from './errors.ts'
import type { Cli, Noun } from './grammar.ts'
import { word } from './output.ts'
import { revoke } from './sign-in/server.ts'
import { signIn } from './sign-in/ways.ts'
import { lineOf } from './text.ts'

/** Signs in. */
export const login: Noun = {
  alone: {
    args: '<address>',
    options: [
      ['--name <context>', 'the name of the context, the host by default'],
      ['--device', 'show a code to enter in a browser elsewhere, as without a screen or over ssh'],
      ['--scope <scope>', 'what it may do: read, write or admin, which is the default, and never more than you'],
      ['--timeout <time>', 'how long to wait for you, 10m by default and at most'],
      ['--token-file <path>', 'a token or a key in a file; - is stdin'],
      ['--machine', 'the sign-in of this machine, which the options below imply'],
      ['--user <name>', 'at this machine: who you are'],
      ['--organization <name>', 'at this machine: the organization'],
      ['--role <role>', 'at this machine: what the token may do, owner by default'],
      ['--create', 'at this machine: make both if they are new'],
      ['--code-file <path>', 'at this machine: the code that Berth printed; - is stdin'],
    ],
    async run(cli, [address = ''], options) {
      const open = await connect({ url: address })
      const { version, hasLocalSignIn } = await open.instance()
      const url = new URL(address)
      const credential = await signIn({ url, hasLocalSignIn, cli, options })
      const viewer = await (await connect({ url: address, token: credential.token })).viewer()
      const name = options.text('name') ?? url.host
      const before = await cli.contexts.save(
        name,
        { url: url.href, ...(viewer.organization ? { organization: viewer.organization.id } : {}) },
        credential,
      )
      await replace(cli, before)
      const who = viewer.user?.name ?? viewer.keyId ?? 'nobody'
      const where = [viewer.organization?.name, viewer.role ? word(viewer.role) : undefined].filter(Boolean).join(', ')
      cli.out.result(
        { context: name, url: url.href, who, organization: viewer.organization?.id },
        `Signed in as ${lineOf(who)} (${lineOf(where)}).`,
      )
      const advice = compareVersions(cli.version, version)
      if (advice) cli.out.note(advice)
    },
  },
}

/** Gives back what the context had before, so that no authorization is left that nobody uses. */
async function replace(cli: Cli, before: Credential | undefined): Promise<void> {
  if (!before?.grant) return
  try {
    await revoke(before)
  } catch (error) {
    cli.out.note(`The sign-in before could not be ended: ${lineOf(sentenceOf(error))}`)
  }
}

/** Gives a credential back, and forgets it. */
export const logout: Noun = {
  alone: {
    args: '[context]',
    async run(cli, [text]) {
      const name = text ?? cli.contexts.read().current
      const { isFound, credential } =
        name === undefined ? { isFound: false, credential: undefined } : await cli.contexts.forget(name)
      if (name === undefined || !isFound) throw new Failure('There is no such context.', exits.notFound)
      const isGivenBack = credential?.grant?.revokeAddress !== undefined
      if (isGivenBack) await giveBack(name, credential)
      const rest = isGivenBack ? '' : ' Its token holds until it ends: revoke a key with berth key rm.'
      cli.out.result({ context: name }, `Forgot ${lineOf(name)}.${rest}`)
    },
  },
}

async function giveBack(name: string, credential: Credential): Promise<void> {
  try {
    await revoke(credential)
  } catch (error) {
    throw new Failure(
      `Forgot ${name}, but Berth does not know it: ${sentenceOf(error)} End it in the console, under Members.`,
      exitOf(error),
    )
  }
}
