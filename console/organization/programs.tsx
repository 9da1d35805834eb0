/** The programs that the person has let in, in all of their organizations. */
import type { ReactNode } from 'react'
import { useKeptQuery } from '../app/kept.ts'
import { AuthorizationsDocument, RevokeAuthorizationDocument } from '../generated/documents.ts'
import { Act } from '../parts/act.tsx'
import { Age } from '../parts/age.tsx'
import { plain } from '../parts/plain.ts'
import { wordOf } from '../parts/state.tsx'
import { Table } from '../parts/table.tsx'

/** Nothing where there is none. */
export function OwnPrograms(): ReactNode {
  const [{ data }, again] = useKeptQuery({ query: AuthorizationsDocument })
  const programs = data?.viewer?.authorizations ?? []
  if (programs.length === 0) return null
  return (
    <section>
      <h2>Programs that you have let in</h2>
      <Table label="Programs" heads={['Program', 'May', 'In', 'Since', 'Used', 'End it']}>
        {programs.map(({ id, clientName, scope, organization, createdAt, usedAt }) => (
          <tr key={id}>
            <td>{plain(clientName)}</td>
            <td>{wordOf(scope)}</td>
            <td>{plain(organization?.name ?? '')}</td>
            <td>
              <Age at={createdAt} />
            </td>
            <td>
              <Age at={usedAt} />
            </td>
            <td>
              <Act
                mutation={RevokeAuthorizationDocument}
                variables={{ input: { id } }}
                least="VIEWER"
                onDone={() => again({ requestPolicy: 'network-only' })}
              >
                End
              </Act>
            </td>
          </tr>
        ))}
      </Table>
    </section>
  )
}
