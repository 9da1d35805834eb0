/** A credential that is put into a vault, or changed. Its secrets are written here, and shown nowhere. */
import { useState, type ReactNode } from 'react'
import {
  CreateVaultCredentialDocument,
  UpdateVaultCredentialDocument,
  type CredentialAuthInput,
  type CredentialRow,
} from '../generated/documents.ts'
import { Check, Choice, Field, TextArea } from '../parts/field.tsx'
import { FormDialog } from '../parts/form.tsx'
import type { Given } from '../parts/given.ts'
import { plain } from '../parts/plain.ts'

const kinds = [
  ['variable', 'A variable of the machine’s'],
  ['placeholder', 'A variable that the machine never sees'],
  ['bearer', 'The token of a tool server'],
  ['oauth', 'A sign-in to a tool server (OAuth)'],
] as const
type Kind = (typeof kinds)[number][0]

const secretInput = { type: 'password', autoComplete: 'off', required: true } as const

/** A new credential of a vault. */
export function NewCredential({ vaultId, onClose }: { vaultId: string; onClose: () => void }): ReactNode {
  const [kind, setKind] = useState<Kind>('variable')
  return (
    <FormDialog
      title="New credential"
      mutation={CreateVaultCredentialDocument}
      input={(given) => ({ vaultId, displayName: given.text('name'), auth: authOf(kind, given) })}
      submit="Add"
      onDone={onClose}
      onClose={onClose}
    >
      <Choice
        label="Kind"
        value={kind}
        options={kinds}
        onChange={({ target }) => setKind(target.value as Kind)} // it has these options
      />
      <Field name="name" label="Name" placeholder="What it is for" />
      {(kind === 'variable' || kind === 'placeholder') && <Variable isReplaced={kind === 'placeholder'} />}
      {kind === 'bearer' && (
        <>
          <Field name="server" label="Address of the tool server" type="url" placeholder="https://…" required />
          <Field name="token" label="Token" {...secretInput} />
        </>
      )}
      {kind === 'oauth' && <Oauth />}
    </FormDialog>
  )
}

function Variable({ isReplaced }: { isReplaced: boolean }): ReactNode {
  return (
    <>
      <div className="row">
        <Field name="variable" label="Variable" placeholder="SHOP_TOKEN" required />
        <Field name="value" label="Value" {...secretInput} />
      </div>
      {isReplaced && (
        <>
          <TextArea
            name="hosts"
            label="Hosts that get it"
            placeholder="api.example.com"
            hint="One a line; without any, every host. The machine has a placeholder, which is replaced on the way there."
          />
          <Check name="header" label="In headers" defaultChecked />
          <Check name="body" label="In the body" />
        </>
      )}
    </>
  )
}

function Oauth(): ReactNode {
  const [isRefreshed, setIsRefreshed] = useState(false)
  const [client, setClient] = useState('none')
  return (
    <>
      <Field name="server" label="Address of the tool server" type="url" placeholder="https://…" required />
      <Field name="token" label="Access token" {...secretInput} />
      <Field name="expires" label="Until when" type="datetime-local" />
      <Check
        name="refreshed"
        label="Berth refreshes it before it ends"
        checked={isRefreshed}
        onChange={({ target }) => setIsRefreshed(target.checked)}
      />
      {isRefreshed && (
        <>
          <Field name="refreshToken" label="Refresh token" {...secretInput} />
          <Field name="endpoint" label="Token endpoint" type="url" placeholder="https://…" required />
          <Field name="clientId" label="Client id" required />
          <Choice
            name="client"
            label="How the client says who it is"
            value={client}
            options={[
              ['none', 'By its id alone'],
              ['clientSecretBasic', 'By a secret, in a header'],
              ['clientSecretPost', 'By a secret, in the body'],
            ]}
            onChange={({ target }) => setClient(target.value)}
          />
          {client !== 'none' && <Field name="clientSecret" label="Client secret" {...secretInput} />}
          <div className="row">
            <Field name="scope" label="Scope" />
            <Field name="resource" label="Resource" />
          </div>
        </>
      )}
    </>
  )
}

function authOf(kind: Kind, given: Given): CredentialAuthInput {
  const { text, has, lines } = given
  if (kind === 'bearer') return { staticBearer: { mcpServerUrl: text('server') ?? '', token: text('token') ?? '' } }
  if (kind === 'oauth') {
    const expires = text('expires')
    return {
      mcpOauth: {
        mcpServerUrl: text('server') ?? '',
        accessToken: text('token') ?? '',
        ...(expires ? { expiresAt: new Date(expires).toISOString() } : {}),
        ...(has('refreshed') ? { refresh: refreshOf(given) } : {}),
      },
    }
  }
  const hosts = lines('hosts')
  return {
    environmentVariable: {
      secretName: text('variable') ?? '',
      secretValue: text('value') ?? '',
      ...(kind === 'placeholder'
        ? {
            networking: hosts.length > 0 ? { limited: { allowedHosts: hosts } } : { unrestricted: true },
            injectionLocation: { header: has('header'), body: has('body') },
          }
        : {}),
    },
  }
}

function refreshOf({ text }: Given): NonNullable<NonNullable<CredentialAuthInput['mcpOauth']>['refresh']> {
  const secret = { clientSecret: text('clientSecret') ?? '' }
  return {
    clientId: text('clientId') ?? '',
    refreshToken: text('refreshToken') ?? '',
    tokenEndpoint: text('endpoint') ?? '',
    tokenEndpointAuth: {
      none: { none: true },
      clientSecretBasic: { clientSecretBasic: secret },
      clientSecretPost: { clientSecretPost: secret },
    }[text('client') ?? 'none'] ?? { none: true },
    scope: text('scope'),
    resource: text('resource'),
  }
}

/** Another name, and for a tool server's token a new one. */
export function ChangeCredential({
  credential: { id, vaultId, displayName, auth },
  onClose,
}: {
  credential: CredentialRow
  onClose: () => void
}): ReactNode {
  const isBearer = auth.__typename === 'StaticBearerAuth'
  return (
    <FormDialog
      title={`Change ${plain(displayName ?? id)}`}
      mutation={UpdateVaultCredentialDocument}
      input={({ text }) => {
        const token = text('token')
        return { id, vaultId, displayName: text('name') ?? null, ...(token ? { auth: { token } } : {}) }
      }}
      submit="Change"
      onDone={onClose}
      onClose={onClose}
    >
      <Field name="name" label="Name" defaultValue={displayName ?? ''} autoFocus />
      {isBearer ? (
        <Field name="token" label="New token" type="password" autoComplete="off" hint="Empty: it stays as it is." />
      ) : (
        <p className="soft">Its secret cannot be changed: archive it, and add the next.</p>
      )}
    </FormDialog>
  )
}
