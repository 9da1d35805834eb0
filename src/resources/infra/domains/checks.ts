/**
 * Checks of domains: by themselves, and when a caller asks. Each has a number, and writes nothing once a later one has
 * written: one whose process hung changes nothing afterwards. One whose process died is taken over when its lease ends.
 */
import { openDnsLookup } from '#src/drivers/dns.ts'
import { fromNow, now } from '#src/platform/clock.ts'
import { domainLimits } from '#src/platform/limits/domains.ts'
import { lockNumbers } from '#src/platform/locks/lock-numbers.ts'
import { change, findOne, sql, transaction, type Db, type Tx } from '#src/platform/postgres.ts'
import type { Background, Call } from '#src/platform/services.ts'
import type { RawBuilder } from 'kysely'
import { checkRecords, type DomainCheck } from './records.ts'
import { lockDomain, type Domain } from './rows.ts'
import { applyCheck, lockClaims } from './states.ts'

/**
 * Claims the domain that is checked next: organizations take turns, the one with the fewest checks under way first, then
 * the one whose domain has been due for longest. So a thousand domains of one never keep another one waiting.
 */
export async function claimDueDomain(db: Db): Promise<Domain | undefined> {
  return transaction(db, async (tx) => {
    await change(tx, sql`select pg_advisory_xact_lock(${lockNumbers.domainChecks})`)
    return findOne<Domain>(tx, nextDomain())
  })
}

/** Steps from organization to organization by an index: with a hundred thousand domains due, sorting them would take long. */
function nextDomain(): RawBuilder<Domain> {
  return sql<Domain>`
    with recursive owners as (
      (select organization_id from domains where next_check_at is not null order by organization_id limit 1)
      union all
      select (select organization_id from domains where next_check_at is not null and organization_id > owners.organization_id order by organization_id limit 1)
      from owners where owners.organization_id is not null
    )
    update domains set check_number = check_number + 1, check_ends_at = ${fromNow(domainLimits.leaseSeconds * 1000)}
    where id = (
      select due.id from owners
      cross join lateral (select id, next_check_at from domains d where d.organization_id = owners.organization_id and next_check_at <= ${now()}
        and (check_ends_at is null or check_ends_at <= ${now()}) order by next_check_at limit 1) due
      cross join lateral (select count(*) as checks from domains b where b.organization_id = owners.organization_id and b.check_ends_at > ${now()}) busy
      where busy.checks < ${domainLimits.checksAtOncePerOrganization}
      order by busy.checks, due.next_check_at, due.id limit 1
    ) returning *`
}

/** Checks a claimed domain, and writes what was seen. @param stopping ends the questions; then nothing is written. */
export async function checkClaimed(
  services: Pick<Background, 'db' | 'config' | 'jobs'>,
  domain: Domain,
  stopping: AbortSignal,
): Promise<void> {
  const check = await askDns(services, domain, stopping)
  if (stopping.aborted) return
  await transaction(services.db, async (tx) => {
    await writeCheck(services, tx, domain, check)
  })
}

/**
 * Checks a domain now, because a caller asks, and lets `use` go on in the transaction that writes what was seen.
 * @throws BerthError rate_limited when the organization asks too often; not_found when it is deleted meanwhile.
 */
export async function checkNow<Result>(
  call: Call,
  { id, organizationId }: Pick<Domain, 'id' | 'organizationId'>,
  use: (tx: Tx, domain: Domain, check: DomainCheck) => Promise<Result>,
): Promise<Result> {
  await call.limiter.spend(`domain-checks:${organizationId}`, domainLimits.checksPerMinute)
  const begun = await transaction(call.db, async (tx) => {
    await lockDomain(tx, id)
    return findOne<Domain>(tx, sql`update domains set check_number = check_number + 1 where id = ${id} returning *`)
  })
  if (!begun) throw new Error('a domain that is locked could not be changed')
  const check = await askDns(call, begun, new AbortController().signal)
  return transaction(call.db, async (tx) => use(tx, await writeCheck(call, tx, begun, check), check))
}

/** Everything that a check asks, within its time. */
async function askDns(
  { config }: Pick<Background, 'config'>,
  domain: Domain,
  stopping: AbortSignal,
): Promise<DomainCheck> {
  const limit = AbortSignal.timeout(domainLimits.checkSeconds * 1000)
  return checkRecords(config, openDnsLookup(config, AbortSignal.any([limit, stopping])), domain)
}

/** Writes what a check saw, unless a later one has written. @returns the domain as it is then, locked. */
async function writeCheck(
  services: Pick<Background, 'jobs' | 'config'>,
  tx: Tx,
  { id, name, checkNumber }: Domain,
  check: DomainCheck,
): Promise<Domain> {
  if (check.isProved) await lockClaims(tx, name)
  const domain = await lockDomain(tx, id)
  if (checkNumber <= domain.checkedNumber) return domain
  return applyCheck(services, tx, domain, { number: checkNumber, check })
}
