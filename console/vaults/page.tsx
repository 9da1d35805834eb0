/** One vault: which credentials are in it; their secrets are shown to nobody. */
import { useNavigate } from '@tanstack/react-router'
import { useState, type ReactNode } from 'react'
import { useReadAgain } from '../app/again.ts'
import {
  ArchiveVaultCredentialDocument,
  ArchiveVaultDocument,
  DeleteVaultCredentialDocument,
  DeleteVaultDocument,
  UpdateVaultDocument,
  ValidateVaultCredentialDocument,
  VaultDocument,
  VaultEventsDocument,
  type CredentialRow,
  type Vault,
} from '../generated/documents.ts'
import { Act, Open } from '../parts/act.tsx'
import { Age } from '../parts/age.tsx'
import { Field } from '../parts/field.tsx'
import { FormDialog } from '../parts/form.tsx'
import { ObjectPage, ReadObject } from '../parts/object.tsx'
import { plain } from '../parts/plain.ts'
import { wordOf } from '../parts/state.tsx'
import { Table } from '../parts/table.tsx'
import { ChangeCredential, NewCredential } from './credential.tsx'

type Known = NonNullable<Vault['vault']>

/** The page. */
export function VaultPage(): ReactNode {
  return (
    <ReadObject document={VaultDocument} read={({ vault }) => vault} what="vault">
      {(vault, again) => <Shown vault={vault} again={again} />}
    </ReadObject>
  )
}

function Shown({ vault, again }: { vault: Known; again: () => void }): ReactNode {
  const { id } = vault
  useReadAgain(VaultEventsDocument, id, again)
  return (
    <ObjectPage
      folder="vaults"
      kind="Vaults"
      name={vault.displayName}
      id={vault.id}
      state={vault.archivedAt && <span className="state off">archived</span>}
      actions={<Actions vault={vault} />}
      tabs={[['credentials', 'Credentials', () => <Credentials vault={vault} />]]}
    />
  )
}

function Actions({ vault: { id, displayName, archivedAt } }: { vault: Known }): ReactNode {
  const navigate = useNavigate()
  const [opened, setOpened] = useState<'name' | 'credential'>()
  const close = (): void => setOpened(undefined)
  return (
    <span className="buttons">
      {!archivedAt && (
        <>
          <Open isPrimary={false} onClick={() => setOpened('name')}>
            Rename
          </Open>
          <Act
            mutation={ArchiveVaultDocument}
            variables={{ input: { id } }}
            ask={{
              question: `Archive ${plain(displayName)}?`,
              text: 'Its secrets are deleted. Sessions that use it go on without them.',
            }}
          >
            Archive
          </Act>
        </>
      )}
      <Act
        mutation={DeleteVaultDocument}
        variables={{ input: { id } }}
        ask={{ question: `Delete ${plain(displayName)}?`, text: 'Nothing of it and of its credentials is left.' }}
        onDone={() => void navigate({ to: '..' })}
      >
        Delete
      </Act>
      {!archivedAt && <Open onClick={() => setOpened('credential')}>New credential</Open>}
      {opened === 'credential' && <NewCredential vaultId={id} onClose={close} />}
      {opened === 'name' && (
        <FormDialog
          title={`Rename ${plain(displayName)}`}
          mutation={UpdateVaultDocument}
          input={({ text }) => ({ id, displayName: text('name') })}
          submit="Rename"
          onDone={close}
          onClose={close}
        >
          <Field name="name" label="Name" defaultValue={displayName} required autoFocus />
        </FormDialog>
      )}
    </span>
  )
}

function Credentials({ vault }: { vault: Known }): ReactNode {
  const [changed, setChanged] = useState<CredentialRow>()
  const credentials = vault.credentials.nodes
  if (credentials.length === 0)
    return (
      <div className="empty">
        <p>
          It holds nothing yet. A credential is a variable of a session’s machine, or what a tool server asks for:{' '}
          <a href="/docs/vaults.md">which there are</a>.
        </p>
      </div>
    )
  return (
    <>
      <Table label="Credentials" heads={['Name', 'Kind', 'For', 'Changed', 'State', 'Now']}>
        {credentials.map((one) => (
          <tr key={one.id}>
            <td>{plain(nameOf(one))}</td>
            <td>{kindOf(one)}</td>
            <td>{plain(purposeOf(one))}</td>
            <td>
              <Age at={one.updatedAt} />
            </td>
            <td>{one.archivedAt ? 'archived' : 'in use'}</td>
            <td>
              <CredentialActions credential={one} onChange={() => setChanged(one)} />
            </td>
          </tr>
        ))}
      </Table>
      {changed && <ChangeCredential credential={changed} onClose={() => setChanged(undefined)} />}
    </>
  )
}

function nameOf({ displayName, auth, id }: CredentialRow): string {
  return displayName ?? ('secretName' in auth ? auth.secretName : id)
}

function kindOf({ auth }: CredentialRow): string {
  if (auth.__typename === 'StaticBearerAuth') return 'token of a tool server'
  if (auth.__typename === 'McpOauthAuth') return auth.refresh ? 'sign-in, refreshed' : 'sign-in'
  return auth.networking ? 'variable, as a placeholder' : 'variable'
}

function purposeOf({ auth }: CredentialRow): string {
  if ('mcpServerUrl' in auth) return auth.mcpServerUrl
  const hosts = auth.networking && 'allowedHosts' in auth.networking ? auth.networking.allowedHosts.join(', ') : ''
  return `${auth.secretName}${hosts ? ` at ${hosts}` : ''}`
}

function CredentialActions({ credential, onChange }: { credential: CredentialRow; onChange: () => void }): ReactNode {
  const [found, setFound] = useState<string>()
  const { id, vaultId, archivedAt, auth } = credential
  const variables = { input: { id, vaultId } }
  const name = plain(nameOf(credential))
  return (
    <span className="buttons">
      {!archivedAt && (
        <>
          <Open isPrimary={false} onClick={onChange}>
            Change
          </Open>
          {auth.__typename === 'McpOauthAuth' && (
            <Act
              mutation={ValidateVaultCredentialDocument}
              variables={variables}
              onDone={({ validateVaultCredential }) =>
                setFound(wordOf(validateVaultCredential?.validation.validationStatus ?? ''))
              }
            >
              Try
            </Act>
          )}
          <Act
            mutation={ArchiveVaultCredentialDocument}
            variables={variables}
            ask={{ question: `Archive ${name}?`, text: 'Its secret is destroyed; its name stays.' }}
          >
            Archive
          </Act>
        </>
      )}
      <Act
        mutation={DeleteVaultCredentialDocument}
        variables={variables}
        ask={{ question: `Delete ${name}?`, text: 'Nothing of it is left.' }}
      >
        Delete
      </Act>
      <span role="status">{found}</span>
    </span>
  )
}
