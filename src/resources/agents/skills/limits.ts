/** The limits of skills. */
export const skillLimits = {
  skillsMax: 1000, // of an organization
  versionsMax: 100, // of a skill
  bytes: 30 * 1024 * 1024, // of an upload, and of all files of a version
  formBytes: 512 * 1024, // of the form around the files
  formHeaderBytes: 8 * 1024, // of one part
  formFieldBytes: 4096, // of a field that is not a file
  filesMax: 500,
  entriesMax: 2000, // of an archive, with its folders
  pathBytes: 255,
  pathDepth: 16,
  ratioMax: 100, // of what an archive unpacks to, beyond the next
  ratioFreeBytes: 1024 * 1024, // that every archive may unpack to
  instructionsBytes: 1024 * 1024, // of a SKILL.md
  frontMatterCharacters: 16 * 1024,
  frontMatterBrackets: 1000, // opening ones, square and curly
  frontMatterMarks: 3000, // commas, colons and question marks
  includedCharacters: 60_000, // of all SKILL.md together that one request to a model without a VM has
  unpackSeconds: 120, // for one version in a VM
  nameLength: 64,
  displayNameLength: 255,
  descriptionLength: 1024,
  receivedAtOnce: 4, // uploads that one process has in memory
  receivedAtOncePerOrganization: 2,
  receivingSeconds: 300, // for one upload to arrive and be stored
  abandonedSeconds: 3600, // an archive that nobody finished so long after its time is removed
} as const
