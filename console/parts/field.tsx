/** One value that a form takes: its name, a hint, and what is wrong with it. */
import { useId, type ComponentProps, type ReactNode } from 'react'
import { boxesOf, readJson } from './given.ts'
import { plain } from './plain.ts'

type Texts = { label: string; hint?: string }
/** @property isSecret whether what is written is kept nowhere: neither in the draft of the form nor by the browser. */
type Kept = { isSecret?: boolean }
const unkept = { autoComplete: 'off', 'data-secret': '' } as const

/** A line of text. */
export function Field({ label, hint, isSecret = false, ...input }: Texts & Kept & ComponentProps<'input'>): ReactNode {
  const id = useId()
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      <input id={id} aria-describedby={hint ? `${id}-hint` : undefined} {...(isSecret && unkept)} {...input} />
      {hint && <small id={`${id}-hint`}>{hint}</small>}
    </div>
  )
}

/** Several lines of text. */
export function TextArea({
  label,
  hint,
  isSecret = false,
  ...area
}: Texts & Kept & ComponentProps<'textarea'>): ReactNode {
  const id = useId()
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      <textarea
        id={id}
        rows={4}
        aria-describedby={hint ? `${id}-hint` : undefined}
        {...(isSecret && unkept)}
        {...area}
      />
      {hint && <small id={`${id}-hint`}>{hint}</small>}
    </div>
  )
}

/** One of a few. */
export function Choice({
  label,
  hint,
  options,
  ...select
}: Texts & { options: readonly (readonly [value: string, text: string])[] } & ComponentProps<'select'>): ReactNode {
  const id = useId()
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      <select id={id} aria-describedby={hint ? `${id}-hint` : undefined} {...select}>
        {options.map(([value, text]) => (
          <option key={value} value={value}>
            {plain(text)}
          </option>
        ))}
      </select>
      {hint && <small id={`${id}-hint`}>{hint}</small>}
    </div>
  )
}

/** JSON; what is none is said before it is sent. */
export function JsonArea({ value, ...area }: Texts & { value?: unknown; name: string; rows?: number }): ReactNode {
  return (
    <TextArea
      {...area}
      className="json"
      spellCheck={false}
      defaultValue={value === undefined ? '' : JSON.stringify(value, null, 2)}
      onInput={({ currentTarget }) => currentTarget.setCustomValidity(readJson(currentTarget.value).problem ?? '')}
    />
  )
}

/** A box to tick. */
export function Check({ label, ...input }: { label: string } & ComponentProps<'input'>): ReactNode {
  return (
    <label className="check">
      <input type="checkbox" {...input} /> {plain(label)}
    </label>
  )
}

/** Any of several. */
export function Checks({
  label,
  hint,
  name,
  options,
  chosen = [],
}: Texts & {
  name: string
  options: readonly (readonly [value: string, text: string])[]
  chosen?: readonly string[]
}): ReactNode {
  const others = chosen.flatMap((value) =>
    options.some(([offered]) => offered === value) ? [] : [[value, value] as const],
  ) // they stay
  return (
    <fieldset className="checks" name={boxesOf(name)}>
      <legend>{label}</legend>
      {[...options, ...others].map(([value, text]) => (
        <Check key={value} label={text} name={name} value={value} defaultChecked={chosen.includes(value)} />
      ))}
      {hint && <small>{hint}</small>}
    </fieldset>
  )
}
