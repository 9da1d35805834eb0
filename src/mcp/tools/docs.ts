/** A tool for Berth's own documents. */
import { z } from 'zod'
import { searchDocuments } from '#src/guide/search.ts'
import { tool } from '../tool.ts'

const sectionsMax = 10
const sectionCharacters = 3_000

/** It. */
export const docsTools = [
  tool({
    name: 'search_docs',
    title: 'Search the documentation',
    description: 'Finds sections of the documentation of this Berth by words, and answers their text.',
    feature: 'docs',
    effect: 'reads',
    keepsToProject: true,
    input: z.object({ query: z.string().min(1), first: z.int().min(1).max(sectionsMax).default(5) }),
    async run({ query, first }, { count }) {
      await count()
      const sections = await searchDocuments(query, first)
      return {
        sections: sections.map(({ path, title, heading, text }) => ({
          path,
          title,
          heading,
          text: text.slice(0, sectionCharacters),
        })),
      }
    },
  }),
]
