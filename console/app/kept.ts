/** A query whose answer stays on the screen when reading it again fails: what is shown is never taken away by a lost connection. */
import { useState } from 'react'
import { useQuery, type AnyVariables, type UseQueryArgs, type UseQueryResponse } from 'urql'

/** As urql's, but for that. What it keeps is that of the same variables. */
export function useKeptQuery<Data, Variables extends AnyVariables>(
  args: UseQueryArgs<Variables, Data>,
): UseQueryResponse<Data, Variables> {
  const [state, again] = useQuery(args)
  const key = JSON.stringify(args.variables)
  const [kept, setKept] = useState({ key, data: state.data })
  if (state.data && (kept.data !== state.data || kept.key !== key)) setKept({ key, data: state.data })
  return [{ ...state, data: state.data ?? (kept.key === key ? kept.data : undefined) }, again]
}
