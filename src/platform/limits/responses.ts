/** Limits of requests in the format of OpenAI's responses. */
export const responseLimits = {
  repeatedLength: 1024 * 1024, // characters of the instructions, tools and format, which answers repeat
  includesMax: 16, // entries of `include`
} as const
