/** Checks the DNS records of domains that are due: some at a time, so that slow name servers keep nobody waiting. */
import { encodeId } from '#src/platform/ids.ts'
import { domainLimits } from '#src/platform/limits/domains.ts'
import { log } from '#src/platform/log.ts'
import type { Background } from '#src/platform/services.ts'
import { checkClaimed, claimDueDomain } from '#src/resources/infra/domains/checks.ts'

/** The checks of one worker. */
export type DomainChecks = {
  /** Begins the checks that are due, as many as may run at once; each that ends begins the next. Does not wait for them. */
  begin: () => Promise<void>
  /** Waits until no check is under way. */
  settle: () => Promise<void>
  /** Ends what is asked; the domains are taken over by another worker when their leases end. */
  stop: () => void
}

/** Makes the checks of a worker, which begin nothing by themselves. */
export function createDomainChecks(services: Pick<Background, 'db' | 'config' | 'jobs'>): DomainChecks {
  const stopping = new AbortController()
  const underWay = new Set<Promise<void>>()
  let beginning: Promise<void> | null = null

  async function beginDue(): Promise<void> {
    while (underWay.size < domainLimits.checksAtOnce && !stopping.signal.aborted) {
      const domain = await claimDueDomain(services.db)
      if (!domain) return
      const check: Promise<void> = checkClaimed(services, domain, stopping.signal)
        .catch((error: Error) =>
          log.warn(
            { domain: encodeId('domain', domain.id), reason: error.message },
            'a domain could not be checked this time',
          ),
        )
        .then(() => {
          underWay.delete(check)
          if (!stopping.signal.aborted) return begin()
        })
        .catch((error: Error) => log.warn({ reason: error.message }, 'no domain could be checked this time'))
      underWay.add(check)
    }
  }

  function begin(): Promise<void> {
    return (beginning ??= beginDue().finally(() => (beginning = null)))
  }

  return {
    begin,
    async settle() {
      while (underWay.size > 0) await Promise.all(underWay)
    },
    stop: () => stopping.abort(),
  }
}
