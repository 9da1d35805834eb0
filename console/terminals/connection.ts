/** A terminal's socket: what is typed and printed, acknowledged when it is drawn, and resumed where it was cut. */

const protocol = 'berth.terminal.v1'
const path = '/terminal'
const ackBytes = 64 * 1024
const againMsFirst = 500
const againMsMax = 10_000
/** Closed so, a socket is opened again: its process stops, the network was cut, the node does not answer. */
const passing = new Set([1001, 1005, 1006, 1011, 1013])

type Said =
  | { type: 'attached'; offset: number }
  | { type: 'gap'; offset: number }
  | { type: 'exit'; code: number }
  | { type: 'replaced' }
  | { type: 'error'; code: string; message: string }

/** There is no ticket now, but may be in a moment: Berth does not answer. */
export class NotNow extends Error {}

/** How a terminal stands, in a sentence; null while it is attached. */
export type Notice = string | null

/** What draws it. `write` calls back once the bytes are drawn. */
export type Screen = { columns: number; rows: number; write(bytes: Uint8Array, drawn: () => void): void; reset(): void }

/** One that is attached. */
export type TerminalConnection = {
  type(bytes: Uint8Array): void
  resize(columns: number, rows: number): void
  close(): void
}

/**
 * Attaches, again and again until it ends.
 * @param takeTicket a ticket of the terminal, for each attachment a new one. @throws NotNow when Berth does not answer, another error when there is none
 * @param onNotice called when it is attached, and when it is not, with why.
 */
export function attach(
  screen: Screen,
  takeTicket: () => Promise<string>,
  onNotice: (notice: Notice, isOver: boolean) => void,
): TerminalConnection {
  let socket: WebSocket | undefined
  let offset: number | undefined // of the next byte that is printed
  let acknowledged = 0
  let drawn = 0
  let againMs = againMsFirst
  let timer = 0
  let isOver = false
  let last: string | null = null

  const say = (message: object): void => {
    if (socket?.readyState === WebSocket.OPEN) socket.send(JSON.stringify(message))
  }
  const end = (notice: string): void => {
    isOver = true
    onNotice(notice, true)
  }

  async function open(): Promise<void> {
    let ticket: string
    try {
      ticket = await takeTicket()
    } catch (error) {
      if (error instanceof NotNow) return later()
      return end(error instanceof Error ? error.message : 'There is no ticket for this terminal.')
    }
    if (isOver) return
    const url = new URL(path, location.href)
    url.protocol = url.protocol === 'https:' ? 'wss:' : 'ws:'
    socket = new WebSocket(url, protocol)
    socket.binaryType = 'arraybuffer'
    socket.onopen = () =>
      say({
        type: 'attach',
        ticket,
        columns: screen.columns,
        rows: screen.rows,
        ...(offset === undefined ? {} : { after: offset }),
      })
    socket.onmessage = ({ data }: MessageEvent<string | ArrayBuffer>) =>
      typeof data === 'string' ? hear(JSON.parse(data) as Said) : print(new Uint8Array(data))
    socket.onclose = ({ code, reason }) => onClose(code, reason)
  }

  function hear(said: Said): void {
    if (said.type === 'attached') {
      offset = said.offset
      drawn = Math.max(drawn, said.offset)
      againMs = againMsFirst
      last = null
      onNotice(null, false)
    } else if (said.type === 'gap') {
      screen.reset()
      offset = drawn = acknowledged = said.offset
    } else if (said.type === 'exit') end(`The program ended with exit code ${said.code}.`)
    else if (said.type === 'replaced') end('Somebody has attached to this terminal elsewhere.')
    else last = said.message
  }

  function print(bytes: Uint8Array): void {
    offset = (offset ?? 0) + bytes.length
    const upTo = offset
    screen.write(bytes, () => {
      drawn = Math.max(drawn, upTo)
      if (drawn - acknowledged < ackBytes) return
      acknowledged = drawn
      say({ type: 'ack', offset: drawn })
    })
  }

  function onClose(code: number, reason: string): void {
    if (isOver) return
    if (!passing.has(code)) return end(last ?? (reason || 'The terminal has ended.'))
    later()
  }

  function later(): void {
    if (isOver) return
    onNotice('The connection was cut. Attaching again…', false)
    timer = window.setTimeout(() => void open(), againMs)
    againMs = Math.min(againMs * 2, againMsMax)
  }

  void open()
  return {
    type(bytes) {
      if (socket?.readyState === WebSocket.OPEN) socket.send(bytes as Uint8Array<ArrayBuffer>)
    },
    resize: (columns, rows) => say({ type: 'resize', columns, rows }),
    close() {
      isOver = true
      clearTimeout(timer)
      socket?.close(1000)
    },
  }
}
