/** When something starts by itself: a cron expression and a time zone. */
import { useId, type ReactNode } from 'react'
import { Choice, Field } from '../parts/field.tsx'

const often = [
  ['', 'As written below'],
  ['0 * * * *', 'Every hour'],
  ['0 9 * * *', 'Every day at 9'],
  ['0 9 * * mon-fri', 'On weekdays at 9'],
  ['0 9 * * mon', 'Every Monday at 9'],
  ['0 9 1 * *', 'On the first of each month at 9'],
] as const

/** The fields `cron` and `zone`. @param isOptional nothing starts by itself where none is written. */
export function Moments({
  cron,
  zone,
  isOptional = false,
}: {
  cron?: string
  zone?: string
  isOptional?: boolean
}): ReactNode {
  const zones = useId()
  return (
    <>
      <Choice
        label="How often"
        options={often}
        defaultValue=""
        onChange={({ currentTarget }) => {
          const field = currentTarget.form?.elements.namedItem('cron')
          if (!(field instanceof HTMLInputElement) || !currentTarget.value) return
          field.value = currentTarget.value
          field.dispatchEvent(new Event('input', { bubbles: true }))
        }}
      />
      <div className="row">
        <Field
          name="cron"
          label="Cron"
          className="json"
          placeholder="0 9 * * mon-fri"
          hint="Minute, hour, day, month, weekday."
          defaultValue={cron ?? ''}
          required={!isOptional}
        />
        <Field
          name="zone"
          label="Time zone"
          list={zones}
          defaultValue={zone ?? Intl.DateTimeFormat().resolvedOptions().timeZone}
          required={!isOptional}
        />
      </div>
      <datalist id={zones}>
        {Intl.supportedValuesOf('timeZone').map((one) => (
          <option key={one} value={one} />
        ))}
      </datalist>
    </>
  )
}
