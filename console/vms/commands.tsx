/** Commands that one runs in a VM, one after the other, and what they printed. */
import { useId, useRef, useState, type KeyboardEvent, type SubmitEvent, type ReactNode } from 'react'
import { useMutation } from 'urql'
import { useMay } from '../app/desk.tsx'
import { usePerson } from '../app/person.tsx'
import { ExecInVmDocument, type VmStatus } from '../generated/documents.ts'
import { Button } from '../parts/button.tsx'
import { Copy } from '../parts/copy.tsx'
import { givenIn } from '../parts/given.ts'
import { plainOutput } from '../parts/plain.ts'
import { toldBy } from '../parts/problem.tsx'

const keptMax = 50
const vmsMax = 20
const timeoutSeconds = 60

/** A command; `end` is null while it runs. */
type Run = { key: number; command: string; output: string; end: string | null; isBad: boolean }

/** What a person has run in each VM since the page was loaded, for when they come back to the tab. The newest comes first. */
const kept = new Map<string, readonly Run[]>()
let count = 0

/** The tab. */
export function Commands({ vm }: { vm: { id: string; vmStatus: VmStatus } }): ReactNode {
  const person = usePerson()
  const place = `${person.id} ${vm.id}`
  const [runs, setRuns] = useState<readonly Run[]>(() => kept.get(place) ?? [])
  const back = useRef(-1) // how far ArrowUp has gone back in them
  const [{ fetching }, exec] = useMutation(ExecInVmDocument)
  const { why } = useMay('MEMBER')
  const note = useId()
  const whyNot = why ?? (vm.vmStatus === 'RUNNING' ? undefined : 'It is not running: start it to run commands in it.')

  async function submit(event: SubmitEvent<HTMLFormElement>): Promise<void> {
    event.preventDefault()
    const form = event.currentTarget
    const command = givenIn(form).text('command')
    if (!command) return
    form.reset()
    back.current = -1
    const key = count++
    put({ key, command, output: '', end: null, isBad: false })
    const { data, error } = await exec({ input: { vmId: vm.id, command, timeoutSeconds } })
    const result = data?.execInVm?.result
    put({
      key,
      command,
      output: result ? plainOutput(`${result.stdout}${result.stderr}${result.error ?? ''}`) : '',
      end: result
        ? result.hasTimedOut
          ? `ended after ${timeoutSeconds} s`
          : `exit code ${result.exitCode}, ${result.duration}`
        : error
          ? toldBy(error).message
          : '',
      isBad: !result || result.exitCode !== 0,
    })
  }

  function put(run: Run): void {
    const others = (kept.get(place) ?? []).filter(({ key }) => key !== run.key)
    const next = [run, ...others].toSorted((one, other) => other.key - one.key).slice(0, keptMax)
    kept.delete(place)
    kept.set(place, next)
    for (const oldest of kept.keys()) if (kept.size > vmsMax) kept.delete(oldest)
    setRuns(next)
  }

  function goBack(event: KeyboardEvent<HTMLInputElement>): void {
    const step = { ArrowUp: 1, ArrowDown: -1 }[event.key]
    if (step === undefined || runs.length === 0) return
    event.preventDefault()
    back.current = Math.min(runs.length - 1, Math.max(-1, back.current + step))
    event.currentTarget.value = runs[back.current]?.command ?? ''
  }
  return (
    <>
      <form className="row" onSubmit={(event) => void submit(event)}>
        <input
          name="command"
          aria-label="Command"
          aria-describedby={whyNot && note}
          placeholder="uname -a"
          title="ArrowUp: the command before"
          onKeyDown={goBack}
          readOnly={whyNot !== undefined}
          autoComplete="off"
        />
        <Button type="submit" isPrimary why={whyNot} isBusy={fetching}>
          Run
        </Button>
      </form>
      {whyNot && (
        <p id={note} className="note">
          {whyNot}
        </p>
      )}
      <div aria-live="polite">
        {runs.map(({ key, command, output, end, isBad }) => (
          <article key={key} className="run">
            <Copy text={command} label="command" />
            {output && <pre tabIndex={0}>{output}</pre>}
            <small className={isBad ? 'bad' : 'soft'}>{end ?? 'Running…'}</small>
          </article>
        ))}
      </div>
    </>
  )
}
