/** What a VM learns about a connected account: git asks for its token by a placeholder, which only the way out can replace. */
import { encodeId } from '#src/platform/ids.ts'
import { codeHostPlace } from '#src/drivers/code-host/places.ts'
import type { CodeHostLink } from './rows.ts'

/** The system variables of a VM with this link. The token is none of them. */
export function linkVariables({ id, url, username }: CodeHostLink): Record<string, string> {
  const account = { CODEHOST_URL: url, CODEHOST_USERNAME: username }
  if (!codeHostPlace({ codeHostUrl: url }).isSecure) return account // without TLS anybody on the way could read the token
  return {
    ...account,
    CODEHOST_TOKEN: placeholderOf(id),
    GIT_CONFIG_COUNT: '1',
    GIT_CONFIG_KEY_0: `credential.${url}.helper`,
    GIT_CONFIG_VALUE_0: credentialHelper,
  }
}

/** The same for the checkout of a build, as arguments of its script: the placeholder, the code host, and git's helper. */
export function checkoutArguments({ id, url }: CodeHostLink): string[] {
  return [placeholderOf(id), url, credentialHelper]
}

function placeholderOf(id: string): string {
  return `berth-secret-${encodeId('codeHostLink', id)}`
}

/** Git asks its helpers only after the host refused a request without a credential, so public repositories are read without the account. */
const credentialHelper =
  '!f() { test "$1" = get && printf \'username=x-access-token\\npassword=%s\\n\' "$CODEHOST_TOKEN"; }; f'
