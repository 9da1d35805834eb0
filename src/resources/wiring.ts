/**
 * Which noun takes part in what happens to a noun below it, in the order in which they do, in the same transaction. Whatever
 * process changes nouns imports this once.
 */
import { hooksAreWired } from '#src/platform/postgres/hooks.ts'

hooksAreWired()
