/** A log that grows: it follows its end until one scrolls up, and says then how much is new. Each line has an address. */
import { useState, type ReactNode, type SyntheticEvent } from 'react'
import { Check } from './field.tsx'
import type { LogLine, LogLines } from './log-lines.ts'
import { useLogWindow } from './log-window.ts'
import { useLook } from './look.ts'
import { plainOutput } from './plain.ts'

/** @param lines all of it so far; it grows in place, and who shows it draws it again. */
export function Log({ lines, isDone, name }: { lines: LogLines; isDone: boolean; name: string }): ReactNode {
  const { count, first } = lines
  const [isWrapped, wrap] = useLook('log lines wrapped')
  const [isTimed, time] = useLook('log times')
  const { box, onScroll, shown, heightPx, abovePx, fresh, found, from, show, followEnd } = useLogWindow(
    lines,
    isWrapped,
    isDone,
  )
  return (
    <div className="log">
      <div className="buttons">
        <span className="soft" role="status">
          {count} {count === 1 ? 'line' : 'lines'}
          {isDone ? '' : ', live'}
          {first > 1 && `, the last ${count - first + 1} of them here`}
        </span>
        <span className="grow" />
        {fresh > 0 && (
          <button type="button" onClick={followEnd}>
            {fresh} new {fresh === 1 ? 'line' : 'lines'}
          </button>
        )}
        <Check label="Wrap lines" checked={isWrapped} onChange={({ target }) => wrap(target.checked)} />
        <Check label="Times" checked={isTimed} onChange={({ target }) => time(target.checked)} />
        <Find lines={lines} from={from} onFound={show} />
        <button type="button" onClick={() => download(lines.text(), name)}>
          Download
        </button>
      </div>
      <div
        ref={box}
        className={isWrapped ? 'lines wrapped' : 'lines'}
        tabIndex={0}
        role="log"
        aria-label={name}
        aria-live="off"
        onScroll={onScroll}
      >
        <div style={{ height: heightPx }}>
          <div style={{ transform: `translateY(${abovePx}px)` }}>
            {shown.map((line) => (
              <Line key={line.number} line={line} isFound={line.number === found} isTimed={isTimed} />
            ))}
          </div>
        </div>
      </div>
    </div>
  )
}

const clock = new Intl.DateTimeFormat('en', { hour: '2-digit', minute: '2-digit', second: '2-digit', hourCycle: 'h23' })

function Line({
  line: { number, text, atMs },
  isFound,
  isTimed,
}: {
  line: LogLine
  isFound: boolean
  isTimed: boolean
}): ReactNode {
  const at = atMs === undefined ? undefined : new Date(atMs)
  return (
    <div className={isFound ? 'logline found' : 'logline'} id={`L${number}`} data-line={number}>
      <a href={`#L${number}`} aria-label={`Line ${number}`}>
        {number}
      </a>
      {isTimed && (
        <time dateTime={at?.toISOString()} title={at?.toLocaleString()}>
          {at && clock.format(at)}
        </time>
      )}
      <span>{plainOutput(text)}</span>
    </div>
  )
}

/** Enter goes to the next line with these words, Shift Enter to the one before. */
function Find({ lines, from, onFound }: { lines: LogLines; from: number; onFound: (line: number) => void }): ReactNode {
  const [words, setWords] = useState('')
  const [told, setTold] = useState('')
  function find(step: 1 | -1): void {
    const line = words ? lines.find(words, from, step) : undefined
    setTold(line ? `Line ${line}` : words && 'No line has it.')
    if (line) onFound(line)
  }
  return (
    <form
      className="findline"
      role="search"
      onSubmit={(event: SyntheticEvent) => {
        event.preventDefault()
        find(1)
      }}
    >
      <span className="soft" role="status">
        {told}
      </span>
      <input
        type="search"
        aria-label="Find in the log"
        placeholder="Find; Enter for the next"
        value={words}
        onChange={({ target }) => {
          setWords(target.value)
          setTold('')
        }}
        onKeyDown={(event) => {
          if (event.key !== 'Enter' || !event.shiftKey) return
          event.preventDefault()
          find(-1)
        }}
      />
    </form>
  )
}

function download(text: string, name: string): void {
  const url = URL.createObjectURL(new Blob([text], { type: 'text/plain' }))
  const link = document.createElement('a')
  link.href = url
  link.download = `${name}.log`
  link.click()
  URL.revokeObjectURL(url)
}
