/** The drafts of whoever is signed in. */
import { useState } from 'react'
import { draftOf, type Draft } from '../app/drafts.ts'
import { usePerson } from '../app/person.tsx'

/** The draft with this name on this page. */
export function useDraft(name: string): Draft {
  return draftOf(usePerson().id, name)
}

/** A text that is kept; empty, or as it was at first, it is forgotten. */
export function useDraftText(name: string, first = ''): [text: string, setText: (text: string) => void] {
  const draft = useDraft(name)
  const [text, setText] = useState(() => draft.read()?.['text'] ?? first)
  return [
    text,
    (written) => {
      setText(written)
      if (written === first || written === '') draft.forget()
      else draft.keep({ text: written })
    },
  ]
}
