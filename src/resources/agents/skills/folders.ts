/** What a skill is: the folder that was sent, checked, and what its SKILL.md says of it. */
import { parseDocument, visit, type Document } from 'yaml'
import { BerthError } from '#src/platform/errors.ts'
import { skillLimits } from './limits.ts'
import { isZip, readZip, shortened, type ZippedFile } from './zip.ts'

/** A file as it was sent. */
export type SentFile = { path: string; bytes: Buffer }

/** A skill’s folder: its name, what it is for, what SKILL.md says after that, and its files by their paths inside. */
export type SkillFolder = { name: string; description: string; instructions: string; files: ZippedFile[] }

/** The file that every skill has. */
export const instructionsFile = 'SKILL.md'

/** Formats that are zip archives to a computer and single files to people. */
const documentEndings =
  /\.(?:docx|dotx|docm|xlsx|xltx|xlsm|pptx|potx|pptm|odt|ods|odp|odg|epub|jar|whl|xpi|apk|ipa|kmz|usdz)$/i
const mebibyte = 1024 * 1024

/**
 * The folder in what was sent: the files of one folder, or one zip of it.
 * @throws BerthError invalid_request.
 */
export async function readSkillFolder(sent: readonly SentFile[]): Promise<SkillFolder> {
  const [only] = sent
  if (!only) throw invalid('Send the files of the skill in parts named files[], or one zip of its folder.')
  const { files, folder } =
    sent.length === 1 && isZip(only.bytes) && !documentEndings.test(only.path)
      ? await unzipped(only.bytes)
      : inOneFolder(sent.map((file) => ({ ...file, isExecutable: false })))
  const instructions = files.find(({ path }) => path === instructionsFile)
  if (!instructions)
    throw invalid('There is no SKILL.md directly in the skill’s folder. Add one with a name and a description.')
  for (const { path, bytes } of files)
    if (isZip(bytes) && !documentEndings.test(path))
      throw invalid(`${shortened(path)} is a zip inside of the skill. Put its files into the folder instead.`)
  return {
    ...readInstructions(instructions.bytes, folder),
    files: files.map((file) => ({ ...file, isExecutable: isProgram(file) })),
  }
}

/** A program by its permissions, or by its first line. */
function isProgram({ bytes, isExecutable }: ZippedFile): boolean {
  return isExecutable || bytes.subarray(0, 2).toString('latin1') === '#!'
}

type InFolder = { files: ZippedFile[]; folder: string | null }

async function unzipped(archive: Buffer): Promise<InFolder> {
  return inOneFolder(await readZip(archive, isNotOfFinder, checkPaths))
}

/** Finder adds these to archives; they have nothing that was in the folder. */
function isNotOfFinder(path: string): boolean {
  return !path.startsWith('__MACOSX/') && path !== '.DS_Store' && !path.endsWith('/.DS_Store')
}

/** The files by their paths inside of the folder that all of them are in, if there is one. */
function inOneFolder(files: ZippedFile[]): InFolder {
  checkPaths(files.map(({ path }) => path))
  if (files.some(({ path }) => path === instructionsFile)) return { files, folder: null }
  const [folder, ...others] = new Set(files.map(({ path }) => path.slice(0, path.indexOf('/') + 1)))
  if (!folder || others.length > 0)
    throw invalid(
      'All files of a skill must be in one folder, with SKILL.md directly in it. Name them with the folder.',
    )
  return {
    files: files.map((file) => ({ ...file, path: file.path.slice(folder.length) })),
    folder: folder.slice(0, -1),
  }
}

/** @throws BerthError invalid_request: for paths that leave the folder, that two systems read differently, or that clash. */
function checkPaths(paths: readonly string[]): void {
  if (paths.length > skillLimits.filesMax) throw invalid(`A skill has at most ${skillLimits.filesMax} files.`)
  const seen = new Set<string>()
  for (const path of paths) {
    checkPath(path)
    const folded = path.normalize('NFC').toLowerCase()
    if (seen.has(folded))
      throw invalid(`${shortened(path)} is there twice; names that differ only in case are the same on some systems.`)
    seen.add(folded)
  }
  for (const path of seen)
    for (let slash = path.indexOf('/'); slash >= 0; slash = path.indexOf('/', slash + 1))
      if (seen.has(path.slice(0, slash)))
        throw invalid(`${shortened(path.slice(0, slash))} is both a file and a folder. Rename one of them.`)
}

function checkPath(path: string): void {
  const shown = shortened(path)
  if (Buffer.byteLength(path) > skillLimits.pathBytes)
    throw invalid(`The path ${shown} has more than ${skillLimits.pathBytes} bytes. Shorten it.`)
  if (/[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\u202a-\u202e\u2066-\u2069\\]/u.test(path))
    throw invalid(`The path ${shown} has a backslash, or a character that cannot be seen. Rename the file.`)
  const parts = path.split('/')
  if (path.startsWith('/') || /^[a-z]:/i.test(path))
    throw invalid(`The path ${shown} is absolute. Name files by their paths from the skill’s folder on.`)
  if (parts.includes('..')) throw invalid(`The path ${shown} leaves the skill’s folder. Name files without "..".`)
  if (parts.some((part) => part === '' || part === '.'))
    throw invalid(`The path ${shown} has a part without a name. Correct it.`)
  if (parts.length > skillLimits.pathDepth)
    throw invalid(`The path ${shown} is in more than ${skillLimits.pathDepth} folders. Move the file up.`)
}

function readInstructions(bytes: Buffer, folder: string | null): Omit<SkillFolder, 'files'> {
  if (bytes.length > skillLimits.instructionsBytes)
    throw invalid(
      `SKILL.md has more than ${skillLimits.instructionsBytes / mebibyte} MiB. Move parts into other files.`,
    )
  const { front, rest } = splitInstructions(bytes)
  const fields = parseFrontMatter(front)
  const name = readSkillName(fields['name'] ?? folder)
  return { name, description: readSkillDescription(fields['description']), instructions: rest.trim() }
}

/** SKILL.md as two texts: what is between the two lines of dashes at its beginning, and what follows them. */
function splitInstructions(bytes: Buffer): { front: string; rest: string } {
  let text: string
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    throw invalid('SKILL.md must be text in UTF-8.')
  }
  if (text.includes('\0')) throw invalid('SKILL.md may have no null characters.')
  const lines = text.slice(0, skillLimits.frontMatterCharacters).split('\n', 1000)
  const isFence = (line: string): boolean => line.trimEnd() === '---'
  const end = lines[0] !== undefined && isFence(lines[0]) ? lines.findIndex((line, at) => at > 0 && isFence(line)) : -1
  if (end < 0)
    throw invalid(
      'SKILL.md must begin with its front matter: a line ---, then name: and description:, then a line ---.',
    )
  const passed = lines.slice(0, end + 1).reduce((sum, line) => sum + line.length + 1, 0)
  return { front: lines.slice(1, end).join('\n'), rest: text.slice(passed) }
}

function parseFrontMatter(text: string): Readonly<Record<string, unknown>> {
  // Each takes the library microseconds.
  const { frontMatterBrackets, frontMatterMarks } = skillLimits
  if ((text.match(/[[{]/g)?.length ?? 0) > frontMatterBrackets)
    throw invalid(`The front matter of SKILL.md may have at most ${frontMatterBrackets} opening brackets and braces.`)
  if ((text.match(/[,:?]/g)?.length ?? 0) > frontMatterMarks)
    throw invalid(
      `The front matter of SKILL.md may have at most ${frontMatterMarks} commas, colons and question marks.`,
    )
  try {
    // The library compares each key of a map with all others, and quotes the text at each error.
    const document = parseDocument(text, { uniqueKeys: false, prettyErrors: false, logLevel: 'silent' })
    const isWrong = document.errors.length > 0 || hasKeyTwice(document)
    const value: unknown = isWrong ? null : document.toJS({ maxAliasCount: 10 })
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown> // just checked
  } catch {
    // as below: aliases or nesting without end
  }
  throw invalid(
    'The front matter of SKILL.md is not YAML with name: and description:. Put texts with a colon in quotes.',
  )
}

function hasKeyTwice(document: Document): boolean {
  let isTwice = false
  visit(document, {
    Map(_, { items }) {
      const keys = new Set(items.map(({ key }) => String(key)))
      if (keys.size === items.length) return undefined
      isTwice = true
      return visit.BREAK
    },
  })
  return isTwice
}

function readSkillName(given: unknown): string {
  if (typeof given !== 'string' || !/^[a-z0-9]+(?:-[a-z0-9]+)*$/.test(given) || given.length > skillLimits.nameLength)
    throw invalid(
      `name in SKILL.md must be 1 to ${skillLimits.nameLength} lower-case letters, digits and single hyphens between them.`,
    )
  if (/anthropic|claude/.test(given))
    throw invalid('name in SKILL.md may not have the words anthropic or claude, which are reserved. Rename the skill.')
  return given
}

function readSkillDescription(given: unknown): string {
  const text = typeof given === 'string' ? given.trim() : ''
  if (text === '' || text.length > skillLimits.descriptionLength)
    throw invalid(
      `description in SKILL.md must be text of 1 to ${skillLimits.descriptionLength} characters: what the skill does, and when to use it.`,
    )
  if (/<\/?[A-Za-z!?]/.test(text) || text.includes('\0'))
    throw invalid('description in SKILL.md may have no XML tags and no null characters. Say it in plain text.')
  return text
}

function invalid(sentence: string): BerthError {
  return new BerthError('invalid_request', sentence, { field: 'files' })
}
