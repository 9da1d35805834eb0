/** Tokens of contexts, in a file for their owner only, which commands that run at once change one after another. */
import { readJson, writeJson } from './json-files.ts'
import { withLock } from './lock.ts'

/**
 * What a context signs in with: a token or a key, and for one that Berth's sign-in for programs gave, when it ends and how the
 * next one is had. `endsAtSeconds` counts from 1970.
 */
export type Credential = { token: string; grant?: Grant }

/** How the next token is had, and all of them are given back. */
export type Grant = { refreshToken: string; endsAtSeconds: number; tokenAddress: string; revokeAddress?: string }

type Stored = Record<string, Credential>

/** The file. */
export class CredentialStore {
  readonly #file: string

  constructor(file: string) {
    this.#file = file
  }

  /** That of a context. */
  find(name: string): Credential | undefined {
    return this.#read()[name]
  }

  /**
   * Changes that of a context, while no other command changes any. `work` is given what is stored at that moment, and answers
   * what is to be; undefined removes it.
   * @returns what there was before, and what there is now.
   */
  change<Next extends Credential | undefined>(
    name: string,
    work: (before: Credential | undefined) => Next | Promise<Next>,
  ): Promise<{ before: Credential | undefined; after: Next }> {
    return withLock(`${this.#file}.lock`, async () => {
      const before = this.find(name)
      const after = await work(before)
      if (after === before) return { before, after }
      const { [name]: _before, ...others } = this.#read()
      writeJson(this.#file, after === undefined ? others : { ...others, [name]: after })
      return { before, after }
    })
  }

  #read(): Stored {
    return readJson<Stored>(this.#file) ?? {}
  }
}
