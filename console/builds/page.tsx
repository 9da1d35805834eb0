/** One build: its log as it comes, and what it made. */
import type { ReactNode } from 'react'
import type { Keeping } from '../app/keeping.ts'
import { useStream } from '../app/streams.ts'
import {
  BuildDocument,
  BuildLogDocument,
  CancelBuildDocument,
  type Build,
  type BuildLog,
} from '../generated/documents.ts'
import { Act } from '../parts/act.tsx'
import { Age, bytesOf, sizeOf } from '../parts/age.tsx'
import { LogLines } from '../parts/log-lines.ts'
import { Log } from '../parts/log.tsx'
import { Facts, ObjectPage, ReadObject } from '../parts/object.tsx'
import { plain } from '../parts/plain.ts'
import { Problem } from '../parts/problem.tsx'
import { State, wordOf } from '../parts/state.tsx'

type Known = NonNullable<Build['build']>
type Entry = Extract<BuildLog['buildLogEvents'], { id: string }>

/** The page. */
export function BuildPage(): ReactNode {
  return (
    <ReadObject document={BuildDocument} read={({ build }) => build} what="build">
      {(build) => <Shown build={build} />}
    </ReadObject>
  )
}

function Shown({ build }: { build: Known }): ReactNode {
  const { id } = build
  const isUnderWay = build.buildStatus === 'RUNNING' || build.buildStatus === 'QUEUED'
  return (
    <ObjectPage
      folder="builds"
      kind="Builds"
      name={build.repoUrl ?? build.id}
      id={build.id}
      state={<State status={build.buildStatus} />}
      actions={
        isUnderWay && (
          <Act mutation={CancelBuildDocument} variables={{ input: { id } }}>
            {build.isCancelRequested ? 'Cancelling…' : 'Cancel'}
          </Act>
        )
      }
      tabs={[
        ['log', 'Log', () => <BuildLogTab key={build.id} id={build.id} />],
        ['output', 'Output', () => <Output build={build} />],
      ]}
    />
  )
}

function BuildLogTab({ id }: { id: string }): ReactNode {
  const { kept, isDone, error } = useStream(BuildLogDocument, id, buildLog)
  return (
    <>
      {error && <Problem error={error} />}
      <Log lines={kept} isDone={isDone} name={id} />
    </>
  )
}

const buildLog: Keeping<BuildLog, Entry, LogLines> = {
  begin: () => new LogLines(),
  read: ({ buildLogEvents: entry }) => ('id' in entry ? { value: entry, cursor: entry.id } : undefined),
  add(lines, entries) {
    for (const { id, output } of entries) lines.add(output, Number.parseInt(id, 10)) // it begins with the moment in ms
  },
  isLast: (entry) => entry.isDone,
}

function Output({ build }: { build: Known }): ReactNode {
  const { output } = build
  return (
    <>
      {build.error && <p className="note">{plain(build.error)}</p>}
      <Facts
        facts={[
          ['Repository', build.repoUrl && plain(build.repoUrl)],
          ['Commit', build.commitSha && <code key="commit">{plain(build.commitSha)}</code>],
          ['Machine', `${build.vcpuCount} vCPU, ${sizeOf(build.memoryMb)}`],
          ['Started', <Age key="started" at={build.startedAt} />],
          ['Ended', <Age key="ended" at={build.finishedAt} />],
          ['Exit code', build.exitCode],
        ]}
      />
      {output && (
        <p>
          Made: {wordOf(output.type)} {plain(output.name)}, {bytesOf(output.sizeBytes)}.{' '}
          {output.url && <a href={output.url}>Download</a>}
        </p>
      )}
    </>
  )
}
