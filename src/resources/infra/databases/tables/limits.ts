/** Limits of what is shown of the tables of a database. */
export const tableLimits = {
  tablesPageBytes: 512 * 1024, // of what is said of the tables of one page; of one table, however much it is
  tablesAnswerBytes: 4 * 1024 * 1024, // of one page as its database sends it
  tablesSeconds: 10, // until a database has said what tables it has
  tableLockSeconds: 2, // until a lock that somebody holds on a table is in the way
  tablesAtOnce: 4, // databases of which one operation reads the tables
  tableIndexesMax: 100, // indexes that are shown of a table
  tableForeignKeysMax: 100, // foreign keys that are shown of a table
  tableTextLength: 200, // characters of a default or comment that are shown
  indexDefinitionLength: 1000, // characters of the definition of an index that are shown
} as const
