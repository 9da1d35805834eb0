/** Limits of requests in the format of OpenAI's responses. */
export const responseLimits = {
  repeatedLength: 1024 * 1024, // characters of the instructions, tools and format, which answers repeat
  streamedLength: 4 * 1024 * 1024, // characters of a stream, which its last events repeat four times
  includesMax: 16, // entries of `include`
} as const
