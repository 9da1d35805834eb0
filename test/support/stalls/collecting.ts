/** Imported before a program: collects its garbage again and again, so that what it says of its memory is what it keeps. */
import { keptBytes } from './memory.ts'

const everyMs = 500

setInterval(() => void keptBytes(), everyMs).unref()
