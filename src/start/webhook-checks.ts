/** The doctor's check of the receiver of GitHub's events: whether triggers can fire. No secret is shown. */
import { isLocalhostName } from '../drivers/addresses.ts'
import type { Config } from '../platform/config.ts'
import type { Check } from './checks.ts'

type HookSettings = Pick<
  Config,
  | 'publicUrl'
  | 'codeHostClientId'
  | 'githubWebhookSecret'
  | 'githubWebhookSecretPrevious'
  | 'githubWebhookOrganizations'
>

/** The check. Berth is complete without triggers, so nothing here fails it. */
export function checkWebhooks(config: HookSettings): Check {
  if (config.githubWebhookSecret === null)
    return {
      verdict: 'neither',
      what: 'events of GitHub, which fire triggers: not set up',
      remedy: 'Set GITHUB_WEBHOOK_SECRET to a long random text, and give a webhook at GitHub the same secret.',
    }
  const address = `${config.publicUrl}/agents/v1/hooks/github`
  const rotating = config.githubWebhookSecretPrevious === null ? '' : ', with the secret of before, too'
  const what = `events of GitHub, which fire triggers: taken at ${address}${rotating}`
  const { hostname } = new URL(config.publicUrl)
  if (isLocalhostName(hostname) || hostname.startsWith('127.') || hostname === '[::1]')
    return {
      verdict: 'neither',
      what: `${what}, which GitHub does not reach`,
      remedy: 'Set BERTH_PUBLIC_URL to the address at which GitHub reaches this host.',
    }
  if (config.codeHostClientId === null && config.githubWebhookOrganizations.length === 0)
    return {
      verdict: 'neither',
      what: `${what}, and nobody can have a trigger`,
      remedy:
        'Set BERTH_CODEHOST_CLIENT_ID, so that people can connect accounts, or GITHUB_WEBHOOK_ORGANIZATIONS for those you trust.',
    }
  return { verdict: 'works', what }
}
