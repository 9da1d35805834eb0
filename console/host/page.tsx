/** This Berth: its version, how people sign in, what one request may ask for; and its machines, for admins. */
import type { ReactNode } from 'react'
import { useMay } from '../app/desk.tsx'
import { useKeptQuery } from '../app/kept.ts'
import { useTitle } from '../app/title.ts'
import { HostDocument, MachinesDocument, type Host as Answer } from '../generated/documents.ts'
import { Age, bytesOf } from '../parts/age.tsx'
import { Heading } from '../parts/heading.tsx'
import { Facts } from '../parts/object.tsx'
import { plain } from '../parts/plain.ts'
import { Problem } from '../parts/problem.tsx'
import { Table } from '../parts/table.tsx'

type Instance = NonNullable<Answer['instance']>

/** The page. */
export function Host(): ReactNode {
  const [{ data, error }, again] = useKeptQuery({ query: HostDocument })
  useTitle('Host')
  return (
    <>
      <div className="head">
        <Heading>Host</Heading>
      </div>
      {error && <Problem error={error} onRetry={() => again({ requestPolicy: 'network-only' })} />}
      {data?.instance && <About instance={data.instance} />}
      <Machines />
    </>
  )
}

function About({ instance }: { instance: Instance }): ReactNode {
  const { version, hasLocalSignIn, signInProviders, issuers, canSendMail, limits } = instance
  const ways = [...(hasLocalSignIn ? ['at this machine, without a password'] : []), ...signInProviders]
  return (
    <>
      <Facts
        facts={[
          ['Version', <code key="version">{plain(version)}</code>],
          ['People sign in', ways.length > 0 ? plain(ways.join(', ')) : 'not in a browser'],
          ['Tokens are taken of', issuers.length > 0 ? plain(issuers.join(', ')) : 'Berth’s own issuer only'],
          ['Invitations by e-mail', canSendMail ? 'sent' : 'not set up: links are handed over'],
        ]}
      />
      <h2>Limits</h2>
      <Facts
        facts={[
          ['Requests a minute, of an organization', limits.requestsPerMinute],
          ['Changes a minute, of an organization', limits.createsPerMinute],
          ['Objects on a page of a list', limits.pageSizeMax],
          ['Objects in one GraphQL operation', limits.operationObjectsMax],
          ['An image in a message', bytesOf(limits.imageBytesMax)],
          ['A PDF in a message', bytesOf(limits.documentBytesMax)],
        ]}
      />
    </>
  )
}

function Machines(): ReactNode {
  const { may, why } = useMay('ADMIN')
  const [{ data, error }, again] = useKeptQuery({ query: MachinesDocument, pause: !may })
  const machines = data?.machines
  return (
    <section>
      <h2>Machines</h2>
      {!may && <p className="note">Which hosts run VMs is shown to admins. {why}</p>}
      {error && <Problem error={error} onRetry={() => again({ requestPolicy: 'network-only' })} />}
      {machines?.nodes.length === 0 && (
        <p className="soft">No host runs VMs: no worker has reported yet. `npm run doctor` says what is missing.</p>
      )}
      {machines && machines.nodes.length > 0 && (
        <Table label="Machines" heads={['Name', 'Runs VMs', 'Takes VMs', 'Heard of']}>
          {machines.nodes.map(({ id, name, acceleration, unavailableReason, lastSeenAt }) => (
            <tr key={id}>
              <td>{plain(name)}</td>
              <td>{accelerated(acceleration)}</td>
              <td>{unavailableReason ? plain(unavailableReason) : 'yes'}</td>
              <td>
                <Age at={lastSeenAt} />
              </td>
            </tr>
          ))}
        </Table>
      )}
    </section>
  )
}

function accelerated(acceleration: string | null | undefined): string {
  if (acceleration === 'KVM') return 'with hardware virtualization'
  return acceleration === 'EMULATION' ? 'in emulation, several times slower' : 'not known yet'
}
