/** The worker thread that asks name servers. */
import { Resolver } from 'node:dns/promises'
import { parentPort } from 'node:worker_threads'
import { domainLimits } from '#src/platform/limits/domains.ts'
import type { DnsQuestion, FromThread, ToThread } from './dns-questions.ts'

const asking = new Map<number, Resolver>()

parentPort?.on('message', ({ id, question }: ToThread) => {
  if (question) void answer(id, question)
  else asking.get(id)?.cancel()
})

async function answer(id: number, question: DnsQuestion): Promise<void> {
  const say = (message: FromThread): void => parentPort?.postMessage(message)
  try {
    const resolver = new Resolver({ timeout: question.limitMs, tries: question.tries })
    asking.set(id, resolver)
    if (question.servers) resolver.setServers(question.servers)
    say({ id, values: (await valuesOf(resolver, question)).slice(0, domainLimits.valuesMax) })
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException // c-ares gives no other errors
    say({ id, code })
  } finally {
    asking.delete(id)
  }
}

async function valuesOf(resolver: Resolver, { record, name }: DnsQuestion): Promise<string[]> {
  switch (record) {
    case 'A':
      return resolver.resolve4(name)
    case 'AAAA':
      return resolver.resolve6(name)
    case 'CNAME':
      return resolver.resolveCname(name)
    case 'NS':
      return resolver.resolveNs(name)
    case 'TXT':
      return (await resolver.resolveTxt(name)).map((chunks) => chunks.join(''))
  }
}
