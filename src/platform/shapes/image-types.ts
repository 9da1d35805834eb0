/** What kind of image bytes are: their label is not trusted, because a model refuses one that is wrong. */

const signatures = [
  { mediaType: 'image/png', begins: /^\x89PNG\r\n\x1a\n/ },
  { mediaType: 'image/jpeg', begins: /^\xff\xd8\xff/ },
  { mediaType: 'image/gif', begins: /^GIF8[79]a/ },
  { mediaType: 'image/webp', begins: /^RIFF[^]{4}WEBP/ },
] as const
/** As many characters of base64 as the longest signature needs. */
const beginningCharacters = 24

/** The media type of an image of a kind that models accept, in base64, by its first bytes; undefined for anything else. */
export function imageTypeOf(base64: string): (typeof signatures)[number]['mediaType'] | undefined {
  const first = Buffer.from(base64.slice(0, beginningCharacters), 'base64').toString('latin1')
  return signatures.find(({ begins }) => begins.test(first))?.mediaType
}
