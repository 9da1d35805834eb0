/** One domain: what DNS says beside what it should say, and its certificate. */
import { useNavigate } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import {
  ActivateDomainDocument,
  CheckDomainDocument,
  DeleteDomainDocument,
  DomainDocument,
} from '../generated/documents.ts'
import { Act } from '../parts/act.tsx'
import { Age } from '../parts/age.tsx'
import { Copy } from '../parts/copy.tsx'
import { Facts, ObjectPage, ReadObject } from '../parts/object.tsx'
import { plain } from '../parts/plain.ts'
import { State, wordOf } from '../parts/state.tsx'
import { Table } from '../parts/table.tsx'
import { Link } from './link.tsx'

/** The page. */
export function DomainPage(): ReactNode {
  return (
    <ReadObject document={DomainDocument} read={({ domain }) => domain} what="domain">
      {(domain) => <Shown domain={domain} />}
    </ReadObject>
  )
}

function Shown({ domain }: { domain: Known }): ReactNode {
  const { id } = domain
  const navigate = useNavigate()
  return (
    <ObjectPage
      folder="domains"
      kind="Domains"
      name={domain.name}
      id={domain.id}
      state={<State status={domain.domainStatus} />}
      actions={
        <span className="buttons">
          <Act
            mutation={DeleteDomainDocument}
            variables={{ input: { domain: id } }}
            least="ADMIN"
            ask={{
              question: `Remove ${plain(domain.name)}?`,
              text: 'Nothing is served at this name any more, and its certificate is gone.',
            }}
            onDone={() => void navigate({ to: '..' })}
          >
            Remove
          </Act>
          <Link domain={domain} />
          <Act
            mutation={CheckDomainDocument}
            variables={{ input: { domain: id } }}
            least="ADMIN"
            isPrimary={domain.domainStatus === 'PENDING'}
          >
            Check now
          </Act>
          {domain.domainStatus !== 'ACTIVE' && (
            <Act
              mutation={ActivateDomainDocument}
              variables={{ input: { domain: id } }}
              least="ADMIN"
              isPrimary={domain.domainStatus === 'VERIFIED'}
            >
              Activate
            </Act>
          )}
        </span>
      }
      tabs={[['records', 'Records', () => <Records domain={domain} />]]}
    />
  )
}

type Known = NonNullable<import('../generated/documents.ts').Domain['domain']>

function Records({ domain }: { domain: Known }): ReactNode {
  return (
    <>
      <p className="note">{plain(domain.message)}</p>
      <Table label="Records" heads={['Record', 'For', 'It should say', 'DNS says', 'Right']}>
        {domain.records.map((record) => (
          <tr key={`${record.type} ${record.name} ${record.expected}`}>
            <td>
              <code>
                {record.type} {plain(record.name)}
              </code>
            </td>
            <td>{wordOf(record.purpose)}</td>
            <td>
              <Copy text={record.expected} label="value" />
            </td>
            <td>{record.seen.length > 0 ? plain(record.seen.join(', ')) : <span className="soft">nothing</span>}</td>
            <td>
              <span className={`state ${record.isRight ? 'ok' : 'bad'}`}>{record.isRight ? 'yes' : 'no'}</span>{' '}
              {record.reason && <small>{plain(record.reason)}</small>}
            </td>
          </tr>
        ))}
      </Table>
      <Facts
        facts={[
          [
            'Address',
            <a key="address" href={domain.externalUrl}>
              {domain.externalUrl}
            </a>,
          ],
          ['Looked at', <Age key="checked" at={domain.checkedAt} />],
          ['Looked at again', domain.nextCheckAt ? <Age key="next" at={domain.nextCheckAt} /> : null],
          ['Certificate', domain.certificate && wordOf(domain.certificate.status)],
          [
            'Certificate ends',
            domain.certificate?.notAfter ? <Age key="ends" at={domain.certificate.notAfter} /> : null,
          ],
        ]}
      />
    </>
  )
}
