/** Which way to a token of a Berth: as the options say, or else as the server and this machine allow. */
import { hasScreen, isRemote, openBrowser } from '../browser.ts'
import type { Credential } from '../credentials.ts'
import { UsageError } from '../errors.ts'
import type { Cli, Given } from '../grammar.ts'
import { readText } from '../inputs.ts'
import { lineOf } from '../text.ts'
import { signInByBrowser } from './browser.ts'
import { signInByDevice } from './device.ts'
import { signInAtMachine } from './machine.ts'
import { findServer, type SignInServer } from './server.ts'

/** What a way has to go by. */
type Asked = { url: URL; hasLocalSignIn: boolean; cli: Cli; options: Given }

const scopes = ['read', 'write', 'admin']
const ofMachine = ['user', 'organization', 'role', 'code-file']
/** How long a Berth waits for a person. */
const waitSecondsMax = 600
const loopback = ['localhost', '127.0.0.1', '[::1]']

/** Signs in. @throws UsageError for options that do not fit; Failure when nobody lets it in. */
export async function signIn(asked: Asked): Promise<Credential> {
  const { url, options, hasLocalSignIn } = asked
  const isFile = options.text('token-file') !== undefined
  const isMachine =
    options.flag('machine') || options.flag('create') || ofMachine.some((name) => options.text(name) !== undefined)
  const isDevice = options.flag('device')
  if (Number(isFile) + Number(isMachine) + Number(isDevice) > 1)
    throw new UsageError('Choose one way: --device, --machine with its options, or --token-file.')
  const scope = scopeIn(options)
  if (isFile || isMachine) {
    if (options.text('scope') !== undefined)
      throw new UsageError('--scope is for the browser and --device. At this machine pass --role.')
    return { token: isFile ? await tokenInFile(options) : await signInAtMachine(url, options) }
  }
  const isHere = hasLocalSignIn && loopback.includes(url.hostname)
  const server = await findServer(url)
  const isThere = server !== undefined && isSamePlace(url, new URL(server.issuer))
  if (isThere) return signInAsProgram(server, scope, isHere, asked)
  if (isHere && !isDevice) return { token: await signInAtMachine(url, options) }
  if (server) throw new UsageError(`This Berth is at ${server.issuer}. Run: berth login ${server.issuer}`)
  throw new UsageError('Pass a token or a key: berth login <address> --token-file -')
}

function scopeIn(options: Given): string {
  const scope = options.text('scope') ?? 'admin'
  if (!scopes.includes(scope)) throw new UsageError(`--scope is one of ${scopes.join(', ')}, not '${scope}'.`)
  return scope
}

/** A token or a key from a file, or from stdin. It is never a word of the command, which others can read. */
async function tokenInFile(options: Given): Promise<string> {
  const token = (await readText(options.text('token-file') ?? '-')).trim()
  if (!/^[\u0021-\u007e]+$/.test(token)) throw new UsageError('The file must have one token or key, and nothing else.')
  return token
}

/** By the browser of the person, or on another device where they have none here. */
async function signInAsProgram(
  server: SignInServer,
  scope: string,
  isHere: boolean,
  { cli, options }: Asked,
): Promise<Credential> {
  const timeoutSeconds = Math.min(options.seconds('timeout') ?? waitSecondsMax, waitSecondsMax)
  if (options.flag('device') || isRemote(cli.env) || !hasScreen(cli.env))
    return signInByDevice(server, {
      scope,
      timeoutSeconds,
      show({ address, code }) {
        cli.out.ask(`Open ${lineOf(address)} and enter ${lineOf(code)}`)
        if (isHere)
          cli.out.note(
            `At the machine of this Berth it goes without a browser, too: berth login ${server.issuer} --machine`,
          )
      },
    })
  return signInByBrowser(server, {
    scope,
    timeoutSeconds,
    async show(address) {
      cli.out.ask(`Open this address in your browser, and allow it there:\n${address.href}`)
      const failure = await openBrowser(cli.env, address)
      if (failure) cli.out.note(failure)
    },
  })
}

/** Whether two addresses are one; the names of this machine are. */
function isSamePlace(one: URL, other: URL): boolean {
  if (one.origin === other.origin) return true
  const areHere = [one, other].every(({ hostname }) => loopback.includes(hostname))
  return areHere && one.protocol === other.protocol && one.port === other.port
}
