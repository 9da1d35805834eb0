/** The DNS records of domains in GraphQL. */
import { builder } from '../../builder.ts'
import { enumOf } from '../../enums.ts'
import type { DomainRecord } from '#src/resources/infra/domains/rows.ts'

const recordPurpose = enumOf('DomainRecordPurpose', 'What a DNS record is for.', {
  address: 'It leads visitors here.',
  ownership: 'It proves that the name is yours.',
  wildcard: 'It lets the certificate of a wildcard be issued, and proves that the name is yours.',
} satisfies Record<DomainRecord['purpose'], string>)

const recordType = enumOf('DomainRecordType', 'The type of a DNS record.', {
  A: 'An address.',
  TXT: 'A text.',
  CNAME: 'Another name.',
} satisfies Record<DomainRecord['type'], string>)

/** A DNS record that a domain needs. */
export const domainRecord = builder.objectRef<DomainRecord>('DomainRecord').implement({
  description: 'A DNS record that a domain needs, and what the last check saw of it at the servers of its zone.',
  fields: (t) => ({
    purpose: t.field({ type: recordPurpose, description: 'What it is for.', resolve: ({ purpose }) => purpose }),
    type: t.expose('type', { type: recordType, description: 'Its type.' }),
    name: t.exposeString('name', { description: 'Its name, in full.' }),
    expected: t.exposeString('expected', { description: 'What it must say.' }),
    seen: t.exposeStringList('seen', { description: 'What it said, ten values at most.' }),
    isRight: t.exposeBoolean('isRight', { description: 'Whether that is as it must be.' }),
    reason: t.exposeString('reason', {
      nullable: true,
      description: 'Why it is not, as a sentence; null before the first check.',
    }),
    checkedAt: t.expose('checkedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When it was checked; null before the first check.',
    }),
  }),
})
