/** Home: what waits for the person, what runs, and first steps where there is nothing yet. */
import { Link, useParams } from '@tanstack/react-router'
import type { SubmitEvent, ReactNode } from 'react'
import { useMutation } from 'urql'
import { useKeptQuery } from '../app/kept.ts'
import { useMay } from '../app/desk.tsx'
import { HomeDocument, RunSandboxDocument, type Home as Answer } from '../generated/documents.ts'
import { Age } from '../parts/age.tsx'
import { Button } from '../parts/button.tsx'
import { useDraftText } from '../parts/draft.ts'
import { Heading } from '../parts/heading.tsx'
import { plain, plainOutput } from '../parts/plain.ts'
import { Problem } from '../parts/problem.tsx'
import { State } from '../parts/state.tsx'

/** The page. */
export function Home(): ReactNode {
  const [{ data, error }, again] = useKeptQuery({ query: HomeDocument })
  if (error && !data) return <Problem error={error} onRetry={() => again({ requestPolicy: 'network-only' })} />
  if (!data) return null
  return (
    <>
      <Heading>Home</Heading>
      <Waiting waiting={data.waiting} />
      <FirstSteps data={data} />
      <Try />
      <Running running={data.running} />
    </>
  )
}

function Waiting({ waiting }: { waiting: Answer['waiting'] }): ReactNode {
  const { org } = useParams({ from: '/o/$org' })
  if (!waiting || waiting.nodes.length === 0) return null
  return (
    <section>
      <h2>Waits for you</h2>
      <ul className="rows">
        {waiting.nodes.map(({ id, title, definition, updatedAt }) => (
          <li key={id}>
            <Link to={`/o/${org}/sessions/${id}`}>{plain(title ?? definition.name)}</Link>
            <span className="grow" />
            <small>
              <Age at={updatedAt} />
            </small>
          </li>
        ))}
      </ul>
    </section>
  )
}

function Running({ running }: { running: Answer['running'] }): ReactNode {
  const { org } = useParams({ from: '/o/$org' })
  if (!running || running.nodes.length === 0) return null
  return (
    <section>
      <h2>Runs now</h2>
      <ul className="rows">
        {running.nodes.map(({ id, name, vmStatus, isAsleep }) => (
          <li key={id}>
            <Link to={`/o/${org}/vms/${id}`}>{plain(name)}</Link>
            <span className="grow" />
            <State status={vmStatus} isAsleep={isAsleep} />
          </li>
        ))}
      </ul>
    </section>
  )
}

function FirstSteps({ data }: { data: Answer }): ReactNode {
  const { org } = useParams({ from: '/o/$org' })
  const steps = [
    {
      path: 'vms',
      text: 'Start a VM',
      what: 'A Linux machine of your own: commands, a terminal, files, ports.',
      isDone: (data.running?.totalCount ?? 0) > 0,
    },
    {
      path: 'databases',
      text: 'Make a database',
      what: 'Postgres with backups, an address for psql, and SQL here.',
      isDone: (data.databases?.totalCount ?? 0) > 0,
    },
    {
      path: 'agents',
      text: 'Make an agent, and give it a task',
      what: 'It works in a session that you can watch, and asks before it uses a tool where you want that.',
      isDone: (data.agents?.totalCount ?? 0) > 0,
    },
    {
      path: 'builds',
      text: 'Run a build',
      what: 'A repository and a command: its log as it comes, and what it makes.',
      isDone: (data.builds?.totalCount ?? 0) > 0,
    },
  ]
  if (steps.every(({ isDone }) => isDone)) return null
  return (
    <section>
      <p>
        Berth runs machines, databases, builds, functions and agents for your organization.{' '}
        <a href="/guide">The guide</a> says how; these are good to begin with.
      </p>
      <h2>First steps</h2>
      <ul className="steps">
        {steps.map(({ path, text, what, isDone }) => (
          <li key={path}>
            <Link to={`/o/${org}/${path}`}>{text}</Link>
            <small>{what}</small>
            <span className={`state ${isDone ? 'ok' : 'off'}`}>{isDone ? 'done' : 'to do'}</span>
          </li>
        ))}
      </ul>
    </section>
  )
}

const timeoutSeconds = 60
const ttlSeconds = 120

/** Runs a piece of code in a machine that is made for it, and deletes itself. */
function Try(): ReactNode {
  const [{ data, error, fetching }, run] = useMutation(RunSandboxDocument)
  const { why } = useMay('MEMBER')
  const [code, setCode] = useDraftText('code', "import platform\nprint('hello from', platform.node())")
  function submit(event: SubmitEvent<HTMLFormElement>): void {
    event.preventDefault()
    void run({
      input: { language: 'python', code, timeoutSeconds, ttlSeconds },
    })
  }
  const command = data?.runSandbox?.sandbox.command
  return (
    <section>
      <h2>Run some code</h2>
      <form onSubmit={submit}>
        <textarea
          name="code"
          aria-label="Python"
          className="sql"
          rows={4}
          spellCheck={false}
          value={code}
          onChange={({ target }) => setCode(target.value)}
          onKeyDown={(event) => {
            if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) event.currentTarget.form?.requestSubmit()
          }}
        />
        <div className="buttons">
          <Button type="submit" isPrimary why={why} isBusy={fetching}>
            {fetching ? 'Running…' : 'Run in a sandbox'}
          </Button>
          <kbd>Ctrl Enter</kbd>
          <small className="soft">Python, in a machine that is made for it, and gone two minutes later.</small>
        </div>
      </form>
      <div aria-live="polite">
        {error && <Problem error={error} />}
        {command && (
          <>
            <pre tabIndex={0}>{plainOutput(`${command.stdout}${command.stderr}`)}</pre>
            <small className={command.exitCode === 0 ? 'soft' : 'bad'}>exit code {command.exitCode}</small>
          </>
        )}
      </div>
    </section>
  )
}
