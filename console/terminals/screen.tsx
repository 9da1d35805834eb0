/** A terminal on the screen. `Ctrl Shift Esc` leaves it by keyboard. */
import { FitAddon } from '@xterm/addon-fit'
import { Terminal } from '@xterm/xterm'
import '@xterm/xterm/css/xterm.css'
import { useEffect, useRef, useState, type ReactNode } from 'react'
import { useClient, type CombinedError } from 'urql'
import { CreateTerminalTicketDocument, OpenTerminalDocument } from '../generated/documents.ts'
import { toldBy } from '../parts/problem.tsx'
import { attach, NotNow, type Notice } from './connection.ts'

const piece = 32 * 1024 // bytes of one message; a paste may be longer

/**
 * Opens a terminal, or attaches to one that is open.
 * @param terminalId one that is open; without it a new one.
 */
export function TerminalScreen({
  vmId,
  terminalId,
  onOver,
}: {
  vmId: string
  terminalId: string | undefined
  onOver: () => void
}): ReactNode {
  const client = useClient()
  const box = useRef<HTMLDivElement>(null)
  const [notice, setNotice] = useState<Notice>('Opening…')
  const over = useRef(onOver)
  useEffect(() => {
    over.current = onOver
  })
  useEffect(() => {
    const element = box.current
    if (!element) return undefined
    const terminal = new Terminal({ fontSize: 13, scrollback: 10_000, theme: themeOf(element), cursorBlink: false })
    const fit = new FitAddon()
    terminal.loadAddon(fit)
    terminal.open(element)
    fit.fit()
    terminal.focus()

    let id = terminalId
    async function takeTicket(): Promise<string> {
      const size = { columns: terminal.cols, rows: terminal.rows }
      if (id === undefined) {
        const { data, error } = await client.mutation(OpenTerminalDocument, { input: { vmId, ...size } }).toPromise()
        id = data?.openTerminal?.terminal.id
        return ticketIn(data?.openTerminal?.ticket, error)
      }
      const { data, error } = await client.mutation(CreateTerminalTicketDocument, { input: { id } }).toPromise()
      return ticketIn(data?.createTerminalTicket?.ticket, error)
    }
    const screen = {
      get columns() {
        return terminal.cols
      },
      get rows() {
        return terminal.rows
      },
      write: (bytes: Uint8Array, drawn: () => void) => terminal.write(bytes, drawn),
      reset: () => terminal.reset(),
    }
    const connection = attach(screen, takeTicket, (told, isOver) => {
      setNotice(told)
      if (isOver) over.current()
    })
    const encoder = new TextEncoder()
    const type = (bytes: Uint8Array): void => {
      for (let at = 0; at < bytes.length; at += piece) connection.type(bytes.subarray(at, at + piece))
    }
    terminal.onData((text) => type(encoder.encode(text)))
    terminal.onBinary((text) => type(Uint8Array.from(text, (character) => character.charCodeAt(0))))
    terminal.onResize(({ cols, rows }) => connection.resize(cols, rows))
    terminal.attachCustomKeyEventHandler((event) => {
      const leaves = event.ctrlKey && event.shiftKey && event.key === 'Escape'
      if (leaves) terminal.blur()
      return !leaves
    })
    element.addEventListener('paste', askAboutLines, { capture: true })
    const sizes = new ResizeObserver(() => fit.fit())
    sizes.observe(element)
    return () => {
      sizes.disconnect()
      connection.close()
      terminal.dispose()
    }
  }, [client, vmId, terminalId])
  return (
    <>
      <p role="status" className={notice ? 'note' : 'soft'}>
        {notice ?? 'Attached. Ctrl Shift Esc leaves the terminal by keyboard.'}
      </p>
      <div className="screen" role="group" aria-label="Terminal">
        <div ref={box} />
      </div>
    </>
  )
}

function ticketIn(ticket: string | undefined, error: CombinedError | undefined): string {
  if (ticket !== undefined) return ticket
  if (error?.networkError) throw new NotNow()
  throw new Error(error ? toldBy(error).message : 'Berth gave no ticket for this terminal.')
}

/** Several lines run as commands, before anybody has read them. */
function askAboutLines(event: ClipboardEvent): void {
  const text = event.clipboardData?.getData('text') ?? ''
  if (!/[\r\n]./.test(text)) return
  const lines = text.split(/\r\n|\r|\n/).length
  if (!confirm(`Paste ${lines} lines into the terminal? Each may run at once.`)) {
    event.preventDefault()
    event.stopPropagation()
  }
}

function themeOf(element: HTMLElement): { background: string; foreground: string; cursor: string } {
  const { backgroundColor, color } = getComputedStyle(element)
  return { background: backgroundColor, foreground: color, cursor: color }
}
