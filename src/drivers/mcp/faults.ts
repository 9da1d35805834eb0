/** What can be wrong with a tool server's answers, in our own words: a server's may contain anything. */

/** An answer that cannot be understood, or is too much. The message is a sentence that says what was wrong, and where. */
export class McpAnswerError extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'McpAnswerError'
  }
}

/** The server no longer knows the session that a request went on with; it did not do what was asked. */
export class McpSessionGone extends Error {
  constructor() {
    super('The server no longer knows the session.')
    this.name = 'McpSessionGone'
  }
}

/** An error that the server answers with. `message` is the server's own. */
export class McpServerError extends Error {
  readonly code: number
  constructor(code: number, message: string) {
    super(message)
    this.name = 'McpServerError'
    this.code = code
  }
}
