/** Limits of embeddings. In the platform, because REST and the table of models read them too. */

/** What one request may have, and how it is sent on. */
export const embeddingLimits = {
  graphqlTextsMax: 256, // of one mutation, whose answer is made at once
  inputsMax: 2048, // texts or lists of tokens of one request
  dimensionsMax: 16_384, // numbers of one vector, which a file of models may name
  numbersMax: 8 * 1024 * 1024, // of all vectors of one answer together
  numbersPerAnswer: 512 * 1024, // of one answer of an upstream; a request for more is sent in parts
  tokenMax: 4_294_967_295, // the largest number of a token
  userLength: 1024, // characters of the caller's own name for their user
  answerBytesPerNumber: 16, // of memory, about, for a number of an answer as it is sent
} as const
