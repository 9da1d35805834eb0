/** Proxies between this machine and a Berth, as HTTPS_PROXY, HTTP_PROXY and NO_PROXY say. */
import http from 'node:http'
import type { Cli } from './grammar.ts'
import { UsageError } from './errors.ts'
import { lineOf } from './text.ts'

/** No proxy has a way to this machine. */
const here = ['localhost', '127.0.0.1', '::1', '[::1]']

/** Has all requests and web sockets go by the proxies of the variables, where Node can. @throws UsageError for a proxy that has no address. */
export function useProxies(cli: Cli): void {
  const named = (name: string): string | undefined => cli.env[name] || cli.env[name.toUpperCase()]
  const proxies = { http_proxy: named('http_proxy'), https_proxy: named('https_proxy') }
  const [name, address] = Object.entries(proxies).find(([, value]) => value !== undefined) ?? []
  if (name === undefined) return
  const { setGlobalProxyFromEnv: use } = http as Partial<typeof http> // Node 20 and 22 have none
  if (!use) return noteMissing(cli)
  try {
    use({ ...proxies, no_proxy: [named('no_proxy'), ...here].filter(Boolean).join(',') })
  } catch (error) {
    throw new UsageError(
      `${name.toUpperCase()} names no proxy: '${lineOf(address ?? '')}'. ${error instanceof Error ? error.message : String(error)}`,
    )
  }
}

function noteMissing(cli: Cli): void {
  if (cli.env['NODE_USE_ENV_PROXY'] === '1' || isHere(cli)) return
  cli.out.note(`Node ${process.versions.node} takes no notice of HTTPS_PROXY and HTTP_PROXY. Use Node 26 for them.`)
}

function isHere(cli: Cli): boolean {
  try {
    return here.includes(new URL(cli.target().url).hostname)
  } catch {
    return true // there is no address to go to, which the command says itself
  }
}
