/** Where the code host is: GitHub, or a server of one's own with the same API. */
import type { Config } from '#src/platform/config.ts'

/** The code host's addresses, without a slash at the end. `host` and `port` are those of git's own requests. */
export type CodeHostPlace = { url: string; api: string; host: string; port: number; isSecure: boolean }

/** The same with the app that is registered there for this Berth. */
export type CodeHostApp = CodeHostPlace & { clientId: string; clientSecret: string }

type Settings = Pick<Config, 'codeHostUrl' | 'codeHostApp' | 'codeHostClientId' | 'codeHostClientSecret'>

/** The addresses of the code host of the settings. */
export function codeHostPlace({ codeHostUrl }: Pick<Settings, 'codeHostUrl'>): CodeHostPlace {
  const url = codeHostUrl.replace(/\/$/, '')
  const { hostname, port, protocol } = new URL(url)
  const isSecure = protocol === 'https:'
  return {
    url,
    api: isGitHub(url) ? 'https://api.github.com' : `${url}/api/v3`,
    host: hostname.replace(/^\[|\]$/g, ''),
    port: Number(port) || (isSecure ? 443 : 80),
    isSecure,
  }
}

/** The app of the settings; null when none is registered. */
export function codeHostApp(settings: Settings): CodeHostApp | null {
  const { codeHostClientId: clientId, codeHostClientSecret: clientSecret } = settings
  return clientId === null || clientSecret === null ? null : { ...codeHostPlace(settings), clientId, clientSecret }
}

/** Where people install the app on their accounts; null when its name is not set. GitHub's own servers have it elsewhere. */
export function installationUrl(settings: Settings): string | null {
  const { url } = codeHostPlace(settings)
  const folder = isGitHub(url) ? 'apps' : 'github-apps'
  return settings.codeHostApp === null ? null : `${url}/${folder}/${settings.codeHostApp}/installations/new`
}

/** Where a person authorizes the app. @param redirectUrl where they come back to; null: the app's own. */
export function authorizationUrl(
  { url, clientId }: CodeHostApp,
  { state, redirectUrl }: { state: string; redirectUrl: string | null },
): string {
  const query = new URLSearchParams({ client_id: clientId, state, scope: 'repo' }) // GitHub Apps have permissions of their own, and ignore the scope
  if (redirectUrl !== null) query.set('redirect_uri', redirectUrl)
  return `${url}/login/oauth/authorize?${query.toString()}`
}

function isGitHub(url: string): boolean {
  return new URL(url).host === 'github.com'
}
