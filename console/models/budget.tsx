/** What may be spent on models in a month: by the organization, and by each of its keys. */
import { useState, type ReactNode } from 'react'
import { useKeptQuery } from '../app/kept.ts'
import {
  ApiKeysDocument,
  BudgetDocument,
  SetApiKeyBudgetDocument,
  SetOrganizationBudgetDocument,
  type Budget as Answer,
} from '../generated/documents.ts'
import { Act, Open } from '../parts/act.tsx'
import { moneyOf } from '../parts/age.tsx'
import { Choice, Field } from '../parts/field.tsx'
import { FormDialog } from '../parts/form.tsx'
import { Facts } from '../parts/object.tsx'
import { plain } from '../parts/plain.ts'
import { Problem } from '../parts/problem.tsx'
import { Table } from '../parts/table.tsx'

type Credits = NonNullable<Answer['inferenceCredits']>

const keysAtMost = 100

/** The tab. */
export function Budget(): ReactNode {
  const [opened, setOpened] = useState<'organization' | 'key'>()
  const [{ data, error }] = useKeptQuery({ query: BudgetDocument })
  const close = (): void => setOpened(undefined)
  if (error) return <Problem error={error} />
  const credits = data?.inferenceCredits
  if (!credits) return null
  return (
    <>
      <Facts
        facts={[
          ['Spent this month, USD', moneyOf(credits.spentThisMonthUsd)],
          ['May be spent a month, USD', credits.monthlyBudgetUsd ? moneyOf(credits.monthlyBudgetUsd) : 'no limit'],
          ['Left of the credits, USD', moneyOf(credits.balanceUsd)],
        ]}
      />
      <div className="buttons">
        <Open least="ADMIN" onClick={() => setOpened('organization')}>
          Set the budget
        </Open>
        <Open least="ADMIN" isPrimary={false} onClick={() => setOpened('key')}>
          Set a key’s budget
        </Open>
      </div>
      {credits.keyBudgets.length > 0 && <OfKeys budgets={credits.keyBudgets} />}
      {opened === 'organization' && (
        <FormDialog
          title="What the organization may spend"
          mutation={SetOrganizationBudgetDocument}
          input={({ text }) => ({ monthlyUsd: text('usd') ?? null })}
          submit="Set"
          onDone={close}
          onClose={close}
        >
          <Amount value={credits.monthlyBudgetUsd} />
        </FormDialog>
      )}
      {opened === 'key' && (
        <FormDialog
          title="What a key may spend"
          mutation={SetApiKeyBudgetDocument}
          input={({ text }) => ({ keyId: text('key') ?? '', monthlyUsd: text('usd') ?? null })}
          submit="Set"
          onDone={close}
          onClose={close}
        >
          <KeyChoice />
          <Amount value={null} />
        </FormDialog>
      )}
    </>
  )
}

function OfKeys({ budgets }: { budgets: Credits['keyBudgets'] }): ReactNode {
  return (
    <>
      <h2>Of keys</h2>
      <Table label="Budgets of keys" heads={['Key', 'Spent this month, USD', 'May be spent, USD', 'End']}>
        {budgets.map(({ keyId, key, spentThisMonthUsd, monthlyUsd }) => (
          <tr key={keyId}>
            <td>{plain(key?.name ?? keyId)}</td>
            <td>{moneyOf(spentThisMonthUsd)}</td>
            <td>{moneyOf(monthlyUsd)}</td>
            <td>
              <Act mutation={SetApiKeyBudgetDocument} variables={{ input: { keyId, monthlyUsd: null } }} least="ADMIN">
                No limit
              </Act>
            </td>
          </tr>
        ))}
      </Table>
    </>
  )
}

function Amount({ value }: { value: string | null }): ReactNode {
  return (
    <Field
      name="usd"
      label="US dollars a month"
      inputMode="decimal"
      pattern="[0-9]+(?:\.[0-9]+)?"
      defaultValue={value ? moneyOf(value) : ''}
      placeholder="50"
      hint="Requests are refused once it is spent, until the month ends (UTC). Empty: no limit."
    />
  )
}

function KeyChoice(): ReactNode {
  const [{ data }] = useKeptQuery({ query: ApiKeysDocument, variables: { first: keysAtMost } })
  const keys = data?.apiKeys?.nodes.filter(({ revokedAt }) => !revokedAt) ?? []
  return <Choice name="key" label="Key" required options={keys.map(({ id, name }) => [id, plain(name)] as const)} />
}
