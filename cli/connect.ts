/** The client, as the command line uses it. */
import { Berth, type BerthOptions, type TokenSource } from '../src/client/berth.ts'
import { exits, Failure, UsageError } from './errors.ts'
import { isId } from './names.ts'
import { lineOf } from './text.ts'

/** Where to ask, and as whom. `organization` is an id or a name. */
type Asked = { url?: string | undefined; token?: TokenSource | undefined; organization?: string | undefined }

/** Opens it, in an organization by its id or its name. @throws UsageError for an address that is none; Failure for no such organization. */
export async function connect(target: Asked): Promise<Berth> {
  const organization = await organizationIdOf(target)
  return new Berth({ ...(await optionsOf(target)), ...(organization ? { organization } : {}) })
}

/** The id of an organization that is named by its id or its name; undefined for none. @throws as `connect`. */
export async function organizationIdOf(target: Asked): Promise<string | undefined> {
  const { organization } = target
  if (!organization || isId(organization)) return organization
  const { organizations } = await new Berth(await optionsOf(target)).viewer()
  const [found, other] = organizations.nodes.filter(({ name }) => name === organization)
  if (!found) throw new Failure(`You are in no organization '${lineOf(organization)}'.`, exits.notFound)
  if (other)
    throw new UsageError(`Several organizations are called '${lineOf(organization)}'. Pass an id: berth org ls`)
  return found.id
}

async function optionsOf({ url = '', token }: Asked): Promise<BerthOptions> {
  if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol))
    throw new UsageError(`'${url}' is no address of a Berth. It begins with https:// or http://.${guessOf(url)}`)
  // Node 20 has no web sockets of its own.
  const webSocket = (globalThis as { WebSocket?: unknown }).WebSocket ?? (await import('ws')).WebSocket
  return { url, webSocket, ...(token ? { token } : {}) }
}

/** What somebody meant who left out how it begins. */
function guessOf(text: string): string {
  const guess = `${/^(?:localhost|127\.)/.test(text) ? 'http' : 'https'}://${text}`
  return /^[\w.-]+(?::\d+)?$/.test(text) && URL.canParse(guess) ? ` Did you mean ${guess}?` : ''
}
