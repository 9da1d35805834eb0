/** Two organizations do anything with one name, in any order: each answer and the route are what a small model says. */
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { decodeId } from '#src/platform/ids.ts'
import { sql } from '#src/platform/postgres.ts'
import { createDomainChecks } from '#workers/infra/domains.ts'
import { ingress, startDomainWorld, type DomainWorld } from './domain-world.ts'

let world: DomainWorld
const organizations: { token: string; vms: [string, string] }[] = []
beforeAll(async () => {
  world = await startDomainWorld()
  for (const token of [world.token, world.other])
    organizations.push({ token, vms: [await world.vm(token), await world.vm(token)] })
})
afterAll(() => world.stop())

type Status = 'none' | 'pending' | 'verified' | 'active' | 'failed'
/** What each organization has, by its number; whether the name leads here; and whose token its TXT record has. */
type Model = { has: { status: Status; vm: number | null }[]; leadsHere: boolean; proof: number | null }

const isHeld = ({ status }: { status: Status }): boolean => status === 'verified' || status === 'active'
const othersHold = ({ has }: Model, who: number): boolean => has.some((one, at) => at !== who && isHeld(one))
const isProved = ({ leadsHere, proof }: Model, who: number): boolean => leadsHere && proof === who
const absent = (model: Model, who: number): number => (othersHold(model, who) ? 403 : 404)

/** A step: changes the model, and answers the status that the request must have. */
const steps: Record<string, (model: Model, who: number, vm: number) => number> = {
  claim(model, who) {
    if (othersHold(model, who)) return 400
    const mine = model.has[who]!
    if (mine.status === 'none') mine.vm = null
    if (mine.status === 'none' || mine.status === 'failed') mine.status = 'pending'
    return 200
  },
  activate(model, who) {
    const mine = model.has[who]!
    if (mine.status === 'none') return absent(model, who)
    if (mine.status === 'active') return 200
    if (mine.status !== 'verified' && othersHold(model, who)) {
      mine.status = 'failed'
      return 400
    }
    if (isProved(model, who)) mine.status = 'active'
    return isProved(model, who) ? 200 : 400
  },
  link(model, who, vm) {
    const mine = model.has[who]!
    if (mine.status === 'none') return absent(model, who)
    if (mine.status === 'failed') return 400
    if (mine.vm !== null && mine.vm !== vm) return 409
    mine.vm = vm
    return 200
  },
  unlink(model, who) {
    const mine = model.has[who]!
    if (mine.status === 'none') return absent(model, who)
    mine.vm = null
    return 204
  },
  delete(model, who) {
    const mine = model.has[who]!
    if (mine.status === 'none') return absent(model, who)
    mine.status = 'none'
    return 204
  },
}

/** What the checks in the background make of it, when each claim was checked twice. */
function checkAll(model: Model): void {
  model.has.forEach((mine, who) => {
    if (mine.status === 'pending' && isProved(model, who) && !othersHold(model, who)) mine.status = 'verified'
  })
  model.has.forEach((mine, who) => {
    if (mine.status === 'pending' && othersHold(model, who)) mine.status = 'failed'
  })
}

async function send(step: string, name: string, who: number, vm: number): Promise<number> {
  const { token, vms } = organizations[who]!
  const [method, path, body] = {
    claim: ['POST', 'domains', { domain: name }] as const,
    activate: ['POST', 'domains/activate', { domain: name }] as const,
    link: ['POST', `domains/${name}/link`, { vm_id: vms[vm], vm_port: 80 }] as const,
    unlink: ['DELETE', `domains/${name}/link`, undefined] as const,
    delete: ['DELETE', `domains/${name}`, undefined] as const,
  }[step]!
  return (await world.call(method, path, body, token)).status
}

/** Lets the TXT record have the current token of this organization, as far as it has one. */
async function setProof(model: Model, name: string): Promise<void> {
  const token =
    model.proof === null ? undefined : (await world.show(name, organizations[model.proof]!.token)).verification_token
  await world.dns.set(`_berth-challenge.${name}`, 'TXT', ...(token ? [`"berth-verify=${token}"`] : []))
}

const step = fc.record({
  what: fc.constantFrom(...Object.keys(steps), 'claim', 'activate', 'prove', 'lead', 'lose', 'check'),
  who: fc.integer({ min: 0, max: 1 }),
  vm: fc.integer({ min: 0, max: 1 }),
})

test('whatever two organizations do with a name, one at most has it, and its route is theirs', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 8, maxLength: 20 }), async (plan) => {
      const name = world.name()
      const model: Model = { has: [0, 1].map(() => ({ status: 'none', vm: null })), leadsHere: false, proof: null }
      const checks = createDomainChecks(world.berth.services)
      for (const { what, who, vm } of plan) {
        if (what === 'prove') {
          model.proof = who
          await setProof(model, name)
          if (model.has[who]!.status === 'none') model.proof = null // there is no token yet
        } else if (what === 'lead' || what === 'lose') {
          model.leadsHere = what === 'lead'
          await world.dns.set(name, 'A', ...(model.leadsHere ? [ingress] : []))
        } else if (what === 'check') {
          for (let times = 0; times < 2; times++) {
            await sql`update domains set next_check_at = now() - interval '1 second' where name = ${name} and next_check_at is not null`.execute(
              world.berth.services.db,
            )
            await checks.begin()
            await checks.settle()
          }
          checkAll(model)
        } else {
          const wanted = steps[what]!(model, who, vm)
          expect(await send(what, name, who, vm), `${what} by ${who}`).toBe(wanted)
          if (what === 'delete' && wanted === 204 && model.proof === who) model.proof = null // its token is gone
        }
        for (const [at, mine] of model.has.entries()) {
          const { body } = await world.call('GET', `domains/${name}`, undefined, organizations[at]!.token)
          expect(body.verification_status ?? 'none', `after ${what} by ${who}`).toBe(mine.status)
          if (mine.status !== 'none') expect(body.vm_id).toBe(mine.vm === null ? null : organizations[at]!.vms[mine.vm])
        }
        const owner = model.has.findIndex(({ status }) => status === 'active')
        const route = await world.route(name)
        expect(route !== undefined).toBe(owner >= 0)
        const vmOf = owner < 0 ? null : model.has[owner]!.vm
        if (route) expect(route.vmId).toBe(vmOf === null ? null : decodeId('vm', organizations[owner]!.vms[vmOf]!))
      }
      checks.stop()
    }),
    { numRuns: 12 },
  )
}, 60_000)
