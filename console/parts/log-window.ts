/** What of a log is in sight: it follows the end until one scrolls up, and what one reads stays where it is, whatever comes. */
import { useEffect, useLayoutEffect, useMemo, useRef, useState, type RefObject } from 'react'
import type { LogLine, LogLines } from './log-lines.ts'
import { straightPlaces, WrappedPlaces } from './log-rows.ts'

const rowPx = 18
const extraRows = 20
const nearEndPx = 40
const letters = '0'.repeat(100)

/** What is shown. */
export type LogWindow = {
  box: RefObject<HTMLDivElement | null>
  onScroll: () => void
  shown: readonly LogLine[]
  /** How high all lines are together, and how far below the first that is held the first that is shown stands. */
  heightPx: number
  abovePx: number
  /** Lines that have come since one looks elsewhere. */
  fresh: number
  found: number | undefined
  /** A line near the beginning of what is shown, from which one searches. */
  from: number
  show: (line: number) => void
  followEnd: () => void
}

/** @param isWrapped whether long lines go on in the next row. @param isDone whether no line follows. */
export function useLogWindow(lines: LogLines, isWrapped: boolean, isDone: boolean): LogWindow {
  const { count, first: firstHeld } = lines
  const box = useRef<HTMLDivElement>(null)
  const [top, setTop] = useState(0)
  const [height, setHeight] = useState(600)
  const [seen, setSeen] = useState<number | null>(null) // null while it follows the end
  const [found, setFound] = useState<number>()
  const columns = useColumns(box, isWrapped && count > 0)
  const wrapped = useMemo(() => new WrappedPlaces(lines), [lines])
  const wanted = useRef(Number(/^#L(\d+)$/.exec(location.hash)?.[1] ?? 0))
  const [known, setKnown] = useState(0) // lines that were drawn in other rows than was guessed
  const places = isWrapped ? wrapped.follow(columns) : straightPlaces(lines)
  const layout = `${isWrapped} ${columns} ${places.left} ${known}`
  const reading = useRef({ layout, line: firstHeld, belowPx: 0 })
  const hasJumped = useRef(false) // to a line that may be near the end of what has come: that is not following it

  function read(element: HTMLElement): void {
    const line = places.lineAt(Math.floor(element.scrollTop / rowPx))
    reading.current = { layout, line, belowPx: element.scrollTop - places.above(line) * rowPx }
  }
  function show(line: number): void {
    const element = box.current
    const before = element?.scrollTop
    if (element) element.scrollTop = places.above(line) * rowPx
    hasJumped.current = element?.scrollTop !== before
    setSeen(count)
    setFound(line)
  }
  useLayoutEffect(() => {
    const element = box.current
    if (!element) return
    setHeight(element.clientHeight)
    const before = reading.current
    if (before.layout !== layout) {
      const belowPx = before.layout.startsWith(`${isWrapped} `) ? before.belowPx : 0
      element.scrollTop = places.above(before.line) * rowPx + belowPx
      reading.current = { ...before, belowPx, layout }
    }
    const isNew = isWrapped ? learn(wrapped, element) : 0
    if (isNew > 0) return setKnown(known + isNew) // what one reads is put in its place when the page is as high as that
    if (wanted.current === 0) {
      if (seen === null) element.scrollTop = element.scrollHeight
    } else if (count >= wanted.current || isDone) {
      const line = wanted.current // the one that the address names, once it has come
      show(line)
      if (isDone || element.scrollTop >= places.above(line) * rowPx) wanted.current = 0 // else again, with more below it
    }
    read(element)
  })

  const first = places.lineAt(Math.max(0, Math.floor(top / rowPx) - extraRows))
  const last = places.lineAt(Math.ceil((top + height) / rowPx) + extraRows)
  return {
    box,
    onScroll() {
      const element = box.current
      if (!element) return
      read(element)
      setTop(element.scrollTop)
      if (hasJumped.current) {
        hasJumped.current = false
        return
      }
      wanted.current = 0
      const isAtEnd = element.scrollHeight - element.scrollTop - element.clientHeight < nearEndPx
      setSeen((before) => (isAtEnd ? null : (before ?? count)))
    },
    shown: lines.read(first, last - first + 1),
    heightPx: places.total * rowPx,
    abovePx: places.above(first) * rowPx,
    fresh: seen === null ? 0 : count - seen,
    found,
    from: found ?? places.lineAt(Math.floor(top / rowPx)),
    show,
    followEnd: () => setSeen(null),
  }
}

/** Sees in how many rows each line is drawn. @returns how many lines were thought to take others. */
function learn(places: WrappedPlaces, element: HTMLElement): number {
  return [...element.querySelectorAll<HTMLElement>('.logline')].filter((line) =>
    places.know(Number(line.dataset['line']), Math.round(line.offsetHeight / rowPx)),
  ).length
}

/** How many letters fit in a row of the log, as wide as it is now; without a width, as many as there are. */
function useColumns(box: RefObject<HTMLDivElement | null>, isNeeded: boolean): number {
  const [columns, setColumns] = useState(Number.POSITIVE_INFINITY)
  useEffect(() => {
    const element = box.current
    if (!element || !isNeeded) return undefined
    const sizes = new ResizeObserver(() => {
      const drawing = document.createElement('canvas').getContext('2d')
      const text = element.querySelector('.logline span')
      if (!drawing || !text) return
      drawing.font = getComputedStyle(text).font
      const letterPx = drawing.measureText(letters).width / letters.length
      setColumns(Math.max(1, Math.floor(text.clientWidth / letterPx)))
    })
    sizes.observe(element)
    return () => sizes.disconnect()
  }, [box, isNeeded])
  return columns
}
