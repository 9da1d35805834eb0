/**
 * Puts the calls of chat completions together. OpenAI numbers them and names each once; other servers give all of them
 * the index 0 or none, repeat ids and names in each piece, or change the id within a call.
 */
import type { AnswerEvents, OpenCall } from './answer-events.ts'
import { countOf, objectOf, textOf, type Values } from './json-values.ts'
import type { UpstreamTarget } from './model.ts'
import { brokenAnswer } from './upstream-errors.ts'

const callsMax = 256

/**
 * A call that is put together. `serverId` is the server's id of it, empty until it says one; `isNamedAgain` that its name
 * came again when its arguments were complete, so that more of them are of another call of the same tool.
 */
type Slot = { call: OpenCall; serverId: string; end: JsonEnd; isNamedAgain: boolean }

/** A piece of a call, as it arrived. `place` is where it stood among how many in its list. */
type Piece = { index: number | undefined; id: string; name: string; hasArguments: boolean; place: number; of: number }

/** The calls of one answer. */
export class ChatCalls {
  readonly #target: UpstreamTarget
  readonly #events: AnswerEvents
  /** The names of the tools that were offered. */
  readonly #offered: ReadonlySet<string>
  readonly #slots: Slot[] = []
  /** By the server's index, and for pieces without one by their place: the newest there. */
  readonly #byIndex = new Map<number, Slot>()
  readonly #byPlace = new Map<number, Slot>()
  #current: Slot | undefined

  constructor(target: UpstreamTarget, events: AnswerEvents, offered: ReadonlySet<string>) {
    this.#target = target
    this.#events = events
    this.#offered = offered
  }

  /** Whether anything of a call has arrived. */
  get areAny(): boolean {
    return this.#slots.length > 0
  }

  /** Takes the pieces that arrived together. @throws BerthError upstream_error for one call too many. */
  take(pieces: readonly unknown[]): void {
    for (const [place, value] of pieces.entries()) {
      const piece = objectOf(value)
      if (piece) this.#piece(piece, place, pieces.length)
    }
  }

  /** Closes all calls, in order. What has no id, no name and no arguments is none: LM Studio sends such. */
  close(): void {
    for (const { call, serverId } of this.#slots)
      if (call.name !== '' || call.hasArguments || serverId !== '') this.#events.closeCall(call)
  }

  #piece(fields: Values, place: number, of: number): void {
    const called = objectOf(fields['function']) ?? {}
    const given = called['arguments']
    const value = objectOf(given)
    const text = textOf(given) ?? ''
    const piece: Piece = {
      index: countOf(fields['index']),
      id: textOf(fields['id']) ?? '',
      name: textOf(called['name']) ?? '',
      hasArguments: value !== null || text.trim() !== '',
      place,
      of,
    }
    const slot = this.#find(piece) ?? this.#open(piece)
    this.#add(slot, piece)
    const extra = objectOf(fields['extra_content'])
    if (extra) this.#events.extra(slot.call, extra)
    slot.end.push(value ? '{}' : text)
    if (value) this.#events.argumentValue(slot.call, value)
    else this.#events.arguments(slot.call, text)
  }

  /** The call that a piece continues; undefined for the first piece of another one. */
  #find(piece: Piece): Slot | undefined {
    const { index, id, name, place, of } = piece
    const known =
      index !== undefined
        ? this.#byIndex.get(index)
        : id === '' && name === ''
          ? of > 1
            ? this.#byPlace.get(place)
            : this.#current
          : (this.#slots.findLast(({ serverId }) => id !== '' && serverId === id) ??
            (place === 0 ? this.#current : undefined))
    return known && !this.#isOther(known, piece) ? known : undefined
  }

  /** Whether a piece where this call stands is of another one: a new id or name there is a new call. */
  #isOther(slot: Slot, piece: Piece): boolean {
    const { call, serverId, end } = slot
    const { id, name, hasArguments } = piece
    // Poolside's id changes behind the first piece of a call, which then is not complete yet.
    if (id !== '' && serverId !== '' && id !== serverId) return name !== '' || call.name === '' || end.isThere
    if (name === '' && slot.isNamedAgain && hasArguments) piece.name = call.name
    if (piece.name === '' || call.name === '') return false
    if (piece.name !== call.name)
      return call.hasArguments || (this.#offered.has(call.name) && !this.#offered.has(call.name + name))
    slot.isNamedAgain ||= end.isThere
    return slot.isNamedAgain && hasArguments // the same tool again, and not its name in each piece
  }

  #open({ id, name }: Piece): Slot {
    if (this.#slots.length >= callsMax) throw brokenAnswer(this.#target, `called more than ${callsMax} tools`)
    const last = this.#current?.call
    if (last && last.name !== '') this.#events.emitCall(last)
    const slot = { call: this.#events.openCall(id, name), serverId: id, end: new JsonEnd(), isNamedAgain: false }
    this.#slots.push(slot)
    return slot
  }

  /** Adds what a piece says of its call: a name in pieces, or an id that comes late. */
  #add(slot: Slot, { index, id, name, place }: Piece): void {
    this.#current = slot
    if (index === undefined) this.#byPlace.set(place, slot)
    else this.#byIndex.set(index, slot)
    const { call } = slot
    if (call.number !== null) return
    if (name !== call.name) call.name += name
    if (slot.serverId === '' && id !== '') call.id = slot.serverId = id
  }
}

const quote = 0x22
const backslash = 0x5c

/** Watches text of JSON for the end of its first object or list. */
export class JsonEnd {
  /** Whether it has been there. */
  isThere = false
  #depth = 0
  #isInText = false
  #isEscaped = false

  push(text: string): void {
    for (let at = 0; at < text.length && !this.isThere; at++) this.#character(text.charCodeAt(at))
  }

  #character(code: number): void {
    if (this.#isEscaped) this.#isEscaped = false
    else if (this.#isInText && code === backslash) this.#isEscaped = true
    else if (code === quote) this.#isInText = !this.#isInText
    else if (this.#isInText) return
    else if (code === 0x7b || code === 0x5b) this.#depth++
    else if ((code === 0x7d || code === 0x5d) && --this.#depth === 0) this.isThere = true
  }
}
