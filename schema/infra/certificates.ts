/** Certificates of domains in GraphQL. */
import { builder } from '../builder.ts'
import { enumOf } from '../enums.ts'
import { rowsOfEach } from '../rows-of-each.ts'
import { findDomainCertificates } from '#src/resources/infra/certificates.ts'
import { ownIssuer, type Certificate, type CertificateStatus } from '#src/resources/infra/certificates/rows.ts'

const certificateStatus = enumOf('CertificateStatus', 'How far a certificate is.', {
  pending: 'It is being obtained.',
  issued: 'It is there. `reason` says when it could not be renewed.',
  failed: '`reason` says why there is none. It is tried again by itself at `nextAttemptAt`.',
} satisfies Record<CertificateStatus, string>)

/** The certificate of a domain. */
export const certificateType = builder.objectRef<Certificate>('DomainCertificate').implement({
  description: 'The certificate that clients of a domain are shown over HTTPS. Berth obtains and renews it by itself.',
  fields: (t) => ({
    status: t.field({ type: certificateStatus, description: 'How far it is.', resolve: ({ status }) => status }),
    reason: t.exposeString('reason', {
      nullable: true,
      description: 'Why there is none, or why it was not renewed, in the words of its authority.',
    }),
    isPublic: t.boolean({
      nullable: true,
      description:
        'Whether an authority that the operator chose issued it; false for Berth’s own, which browsers do not know; null while there is none.',
      resolve: ({ issuer }) => (issuer === null ? null : issuer !== ownIssuer),
    }),
    notBefore: t.expose('notBefore', { type: 'DateTime', nullable: true, description: 'From when on it is valid.' }),
    notAfter: t.expose('notAfter', {
      type: 'DateTime',
      nullable: true,
      description: 'Until when it is valid; null for one of Berth’s own authority, which is made anew every few days.',
    }),
    nextAttemptAt: t.expose('nextAttemptAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When it is obtained, tried again, or renewed.',
    }),
    updatedAt: t.expose('updatedAt', { type: 'DateTime', description: 'When it last changed.' }),
  }),
})

/** The certificate of a domain, by the domain's stored id. */
export const certificateOfDomain = rowsOfEach(findDomainCertificates, ({ domainId }) => domainId)
