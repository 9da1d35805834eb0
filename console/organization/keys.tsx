/** The organization's keys. A key's secret is shown once. */
import { useState, type ReactNode } from 'react'
import { ApiKeysDocument, CreateApiKeyDocument, RevokeApiKeyDocument, type ApiKeyRow } from '../generated/documents.ts'
import { Act } from '../parts/act.tsx'
import { Age } from '../parts/age.tsx'
import { Secret } from '../parts/copy.tsx'
import { Dialog } from '../parts/dialog.tsx'
import { Field } from '../parts/field.tsx'
import { FormDialog } from '../parts/form.tsx'
import { List, type Column } from '../parts/list.tsx'
import { plain } from '../parts/plain.ts'

const columns: readonly Column<ApiKeyRow>[] = [
  ['Name', ({ name }) => plain(name)],
  ['Ends in', ({ lastFour }) => <code>…{lastFour}</code>],
  ['Made by', ({ createdBy }) => createdBy && plain(createdBy.name)],
  ['Made', ({ createdAt }) => <Age at={createdAt} />],
  ['Used', ({ lastUsedAt }) => <Age at={lastUsedAt} />],
  [
    'State',
    ({ id, name, revokedAt }) =>
      revokedAt ? (
        <span className="state off">revoked</span>
      ) : (
        <Act
          mutation={RevokeApiKeyDocument}
          variables={{ input: { id } }}
          least="ADMIN"
          ask={{
            question: `Revoke ${plain(name)}?`,
            text: 'Programs that use it are refused within a second. It cannot be brought back.',
          }}
        >
          Revoke
        </Act>
      ),
  ],
]

/** The list. */
export function Keys(): ReactNode {
  const [secret, setSecret] = useState<string>()
  return (
    <>
      <List
        title="Keys"
        document={ApiKeysDocument}
        read={({ apiKeys }) => apiKeys}
        columns={columns}
        create={{
          title: 'New key',
          least: 'ADMIN',
          form: (close) => (
            <FormDialog
              title="New key"
              mutation={CreateApiKeyDocument}
              input={({ text }) => ({ name: text('name') ?? '' })}
              submit="Create"
              onDone={({ createApiKey }) => {
                close()
                setSecret(createApiKey?.key)
              }}
              onClose={close}
            >
              <Field name="name" label="Name" placeholder="ci" required autoFocus />
            </FormDialog>
          ),
        }}
        empty={
          <p>
            With a key a program uses models and agents, in the clients of OpenAI and Anthropic too, without a person.
          </p>
        }
      />
      {secret && (
        <Dialog title="Your key">
          <Secret text={secret} label="key" onDone={() => setSecret(undefined)} />
        </Dialog>
      )}
    </>
  )
}
