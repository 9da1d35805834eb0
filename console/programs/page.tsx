/** The pages where a person lets a program in: one that has sent their browser here, and a device that shows a code. */
import { useEffect, useState, type ReactNode, type SubmitEvent } from 'react'
import { usePerson } from '../app/person.tsx'
import { Button } from '../parts/button.tsx'
import { Choice, Field } from '../parts/field.tsx'
import { givenIn } from '../parts/given.ts'
import { Facts } from '../parts/object.tsx'
import { plain } from '../parts/plain.ts'
import { answer, look, type Asked, type Told, type Which } from './asking.ts'

/** What stands after `?` when the page is opened. */
function useGiven(name: string): string {
  return useState(() => new URLSearchParams(location.search).get(name) ?? '')[0]
}

/** A program has sent the browser here. */
export function Authorize(): ReactNode {
  const request = useGiven('request')
  const [which] = useState<Which>({ request })
  return (
    <main className="alone">
      <Ask which={which} />
    </main>
  )
}

/** A device shows a code. */
export function Activate(): ReactNode {
  const given = useGiven('user_code')
  const [which, setWhich] = useState<Which | null>(given === '' ? null : { user_code: given })
  function submit(event: SubmitEvent<HTMLFormElement>): void {
    event.preventDefault()
    setWhich({ user_code: givenIn(event.currentTarget).text('user_code') ?? '' })
  }
  if (which)
    return (
      <main className="alone">
        <Ask which={which} onOtherCode={() => setWhich(null)} />
      </main>
    )
  return (
    <main className="alone">
      <h1>Let a device in</h1>
      <form onSubmit={submit}>
        <Field
          name="user_code"
          label="Code that the device shows"
          placeholder="WDJB-MJHT"
          required
          autoComplete="off"
          autoCapitalize="characters"
          spellCheck={false}
        />
        <button className="primary">Go on</button>
      </form>
    </main>
  )
}

type Shown = { asked: Asked } | { refusal: string } | { isDone: 'allowed' | 'denied'; asked: Asked }

function Ask({ which, onOtherCode }: { which: Which; onOtherCode?: () => void }): ReactNode {
  const { onSignedOut } = usePerson()
  const [shown, setShown] = useState<Shown | null>(null)
  useEffect(() => {
    let isLeft = false
    void look(which).then((told) => {
      if (isLeft) return
      if ('data' in told) setShown({ asked: told.data })
      else refused(told)
    })
    return () => {
      isLeft = true
    }
    function refused(told: Extract<Told<unknown>, { refusal: string }>): void {
      if (told.isSignedOut) onSignedOut()
      setShown({ refusal: told.refusal })
    }
  }, [which, onSignedOut])
  if (!shown) return null
  if ('refusal' in shown)
    return (
      <>
        <h1>Nothing asks here</h1>
        <p role="alert">{shown.refusal}</p>
        {onOtherCode && (
          <button type="button" onClick={onOtherCode}>
            Enter another code
          </button>
        )}
      </>
    )
  if ('isDone' in shown) return <Done {...shown} />
  const { asked } = shown
  return <Consent asked={asked} which={which} onDone={(isDone) => setShown({ isDone, asked })} />
}

function Done({ isDone, asked }: { isDone: 'allowed' | 'denied'; asked: Asked }): ReactNode {
  return (
    <>
      <h1>{isDone === 'allowed' ? `${plain(asked.client_name)} is let in` : 'It was not let in'}</h1>
      <p role="status">
        {asked.is_device ? 'Go back to the device.' : 'Go back to the program, if it has not come forward.'} You may
        close this page.
      </p>
    </>
  )
}

const meanings = {
  read: 'see what a viewer sees there, and change nothing',
  write: 'do what a member may do there, in your name',
  admin: 'do everything that you may do there, in your name',
} as const

function Consent({
  asked,
  which,
  onDone,
}: {
  asked: Asked
  which: Which
  onDone: (what: 'allowed' | 'denied') => void
}): ReactNode {
  const { name, organizations, onSignedOut } = usePerson()
  const [isBusy, setIsBusy] = useState(false)
  const [refusal, setRefusal] = useState<string>()
  const [chosen, setChosen] = useState(organizations[0]?.id ?? '')
  const program = plain(asked.client_name)

  async function decide(organizationId: string | null): Promise<void> {
    setIsBusy(true)
    const told = await answer(which, organizationId)
    setIsBusy(false)
    if ('refusal' in told) {
      setRefusal(told.refusal)
      if (told.isSignedOut) onSignedOut()
      return
    }
    onDone(organizationId === null ? 'denied' : 'allowed')
    if (told.data.to !== null) location.assign(told.data.to)
  }
  return (
    <>
      <h1>Let {program} in?</h1>
      <p>
        {asked.is_device ? 'A device' : 'A program'} asks to act for you, {plain(name)}. It may then{' '}
        {meanings[asked.scope]}. You can end that at any time, under Members.
      </p>
      <Facts facts={factsOf(asked, which).map(([what, value]) => [what, plain(value)])} />
      <Choice
        label="In which organization"
        options={organizations.map((one) => [one.id, one.name])}
        value={chosen}
        onChange={({ target }) => setChosen(target.value)}
      />
      {refusal && (
        <p role="alert" className="bad">
          {refusal}
        </p>
      )}
      <div className="buttons">
        <Button
          isPrimary
          isBusy={isBusy}
          why={chosen === '' ? 'You belong to no organization: ask an admin to invite you.' : undefined}
          onClick={() => void decide(chosen)}
        >
          Allow
        </Button>
        <Button isBusy={isBusy} onClick={() => void decide(null)}>
          Deny
        </Button>
      </div>
    </>
  )
}

function factsOf(asked: Asked, which: Which): (readonly [string, string])[] {
  const code = 'user_code' in which ? which.user_code.toUpperCase() : null
  return [
    ['It calls itself', asked.client_name],
    ['Who vouches for that', asked.client_host ?? 'nobody: any program can say so'],
    ...(code === null
      ? [['It gets the answer at', asked.returns_to ?? 'this machine, where the program runs'] as const]
      : [['Its code, which the device must show', code] as const, ['It asks from', asked.address] as const]),
  ]
}
