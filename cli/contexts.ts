/** Which Berth, and as whom: contexts in the configuration folder, credentials beside the state, for their owner only. */
import { homedir } from 'node:os'
import { join } from 'node:path'
import type { TokenSource } from '../src/client/berth.ts'
import { CredentialStore, type Credential } from './credentials.ts'
import { UsageError } from './errors.ts'
import { readJson, writeJson } from './json-files.ts'

/** The variables that the command line reads. */
export type Env = Readonly<Record<string, string | undefined>>

/** One Berth by a name. */
export type Context = { url: string; organization?: string }

/** What a command needs to ask. `name` is the context's, undefined when only variables say it. */
export type Target = {
  url: string
  token: TokenSource | undefined
  organization: string | undefined
  name: string | undefined
}

type Contexts = { current?: string; contexts: Record<string, Context> }

/** The folder of what a person's command line keeps, for them only. */
export function stateFolderOf(env: Env): string {
  return join(env['XDG_STATE_HOME'] || join(env['HOME'] || homedir(), '.local', 'state'), 'berth')
}

/** The contexts of a person. */
export class ContextStore {
  readonly #env: Env
  readonly #contextsFile: string
  readonly #credentials: CredentialStore

  constructor(env: Env) {
    const home = env['HOME'] || homedir()
    this.#env = env
    this.#contextsFile = join(env['XDG_CONFIG_HOME'] || join(home, '.config'), 'berth', 'contexts.json')
    this.#credentials = new CredentialStore(join(stateFolderOf(env), 'credentials.json'))
  }

  /** What is saved: the name of the current one, and all. */
  read(): Contexts {
    return readJson<Contexts>(this.#contextsFile) ?? { contexts: {} }
  }

  /**
   * Where to ask: what was passed, before the variables BERTH_URL, BERTH_TOKEN and BERTH_ORG, before the context. The
   * context's token goes to the context's own address only.
   * @throws UsageError when there is no address, or no such context.
   */
  target({
    context: passed,
    organization,
  }: {
    context?: string | undefined
    organization?: string | undefined
  }): Target {
    const { current, contexts } = this.read()
    const name = passed ?? current
    const context = name === undefined ? undefined : contexts[name]
    if (passed !== undefined && !context)
      throw new UsageError(
        `There is no context '${passed}'. There are: ${Object.keys(contexts).join(', ') || 'none. Make one: berth login <address>'}`,
      )
    const named = passed === undefined ? this.#env['BERTH_URL'] : undefined
    const url = named || context?.url
    if (!url) throw new UsageError('Which Berth? Run: berth login <address>, or set BERTH_URL.')
    const isOwn = context !== undefined && originOf(context.url) === originOf(url)
    const variable = passed === undefined ? this.#env['BERTH_TOKEN'] : undefined
    return {
      url,
      token: variable || (isOwn && name !== undefined ? this.#tokenOf(name, context.url) : undefined),
      organization: organization ?? this.#env['BERTH_ORG'] ?? (isOwn ? context.organization : undefined),
      name: isOwn ? name : undefined,
    }
  }

  /** Saves a context with its credential, and makes it the current one. @returns the credential that it had before. */
  async save(name: string, context: Context, credential: Credential): Promise<Credential | undefined> {
    const { contexts } = this.read()
    writeJson(this.#contextsFile, { current: name, contexts: { ...contexts, [name]: context } })
    return (await this.#credentials.change(name, () => credential)).before
  }

  /** Chooses the organization of a context. @throws UsageError when there is no such context. */
  choose(name: string | undefined, organization: string): void {
    const { current, contexts } = this.read()
    const context = name === undefined ? undefined : contexts[name]
    if (name === undefined || !context)
      throw new UsageError('There is no context to change. Set BERTH_ORG, or run: berth login <address>')
    writeJson(this.#contextsFile, {
      ...(current === undefined ? {} : { current }),
      contexts: { ...contexts, [name]: { ...context, organization } },
    })
  }

  /** Forgets a context and its credential. @returns whether there was one, and the credential. */
  async forget(name: string): Promise<{ isFound: boolean; credential: Credential | undefined }> {
    const { current, contexts } = this.read()
    const { [name]: found, ...rest } = contexts
    if (!found) return { isFound: false, credential: undefined }
    const { before } = await this.#credentials.change(name, () => undefined)
    writeJson(this.#contextsFile, {
      ...(current === undefined || current === name ? {} : { current }),
      contexts: rest,
    })
    return { isFound: true, credential: before }
  }

  #tokenOf(name: string, url: string): TokenSource | undefined {
    const stored = this.#credentials.find(name)
    if (!stored?.grant) return stored?.token
    let source: Promise<(wasRefused: boolean) => Promise<string>> | undefined
    return async (wasRefused) => {
      // Loaded now, because it loads the client, which many commands do without.
      source ??= import('./refresh.ts').then(({ tokenSourceOf }) => tokenSourceOf(this.#credentials, name, url))
      return (await source)(wasRefused)
    }
  }
}

function originOf(url: string): string {
  return URL.canParse(url) ? new URL(url).origin : url
}
