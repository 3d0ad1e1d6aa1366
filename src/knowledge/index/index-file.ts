import type { KnownWords } from '../../base/tokens.ts'
import { DerivedFile } from '../../store/derived-file.ts'

/** Rises with every change of the tables or of what is written to them. An older index is made anew: everything in it can be. */
export const INDEX_SCHEMA = 3

/** "pcci": the file is an index of ours. */
const APPLICATION_ID = 0x70636369

/** The words are tokens already; `=` begins the exact name of a definition, `+` a word that is frequent in its row. */
const TOKENIZE = `tokenize = "ascii tokenchars '=+'"`
const WORDS = `fts5(words, content = '', contentless_delete = 1, detail = none, ${TOKENIZE})`

const TABLES = [
  'create table meta (name text primary key, value text not null) without rowid',
  /** Every path that is in the index or in the history; `changed` is the number of the last commit that changed it. */
  'create table names (id integer primary key, path text not null unique, changed integer not null default 0)',
  /** The files of the index have the id of their name. `key` is the blob hash of what the tables hold; empty if that is uncertain. */
  `create table files (id integer primary key, path text not null, key text not null, generated integer not null, problem text,
     first_chunk integer not null, chunks integer not null)`,
  'create index files_by_chunk on files (first_chunk)',
  /** The syntax of a file, packed (syntax-rows.ts). */
  'create table syntax (id integer primary key, packed blob not null)',
  /** A commit's number counts from the oldest that is known. */
  'create table commits (id integer primary key, hash blob not null)',
  'create table changes (name_id integer not null, commit_id integer not null, primary key (name_id, commit_id)) without rowid',
  'create index changes_by_commit on changes (commit_id)',
  /** The last words of a file's imports. */
  `create virtual table imports using ${WORDS}`,
  /** Embedded texts by their hash; the table of their vectors is made when their size is known (vectors.ts). */
  'create table vector_texts (id integer primary key, hash blob not null unique)',
  'create table chunk_vectors (chunk_id integer primary key, file_id integer not null, vector_id integer not null)',
  'create index chunk_vectors_by_file on chunk_vectors (file_id)',
  'create index chunk_vectors_by_vector on chunk_vectors (vector_id)',
  `create virtual table body using ${WORDS}`,
  `create virtual table chunk using ${WORDS}`,
  `create virtual table path using ${WORDS}`,
  `create virtual table definition using ${WORDS}`,
  `create virtual table history using ${WORDS}`,
  `create virtual table body_words using fts5vocab('body', 'row')`,
]

/** The SQLite file of one index. */
export class IndexFile extends DerivedFile {
  readonly #extensions = new Set<string>()
  /** The tokens of the words that were written to it lately. */
  readonly knownWords: KnownWords = new Map()

  constructor(wanted: string) {
    super(wanted, { schema: INDEX_SCHEMA, application: APPLICATION_ID, tables: TABLES })
  }

  /** Loads native code into the connection, once. */
  loadExtension(path: string): void {
    if (this.#extensions.has(path)) return
    this.database.enableLoadExtension(true)
    try {
      this.database.loadExtension(path)
    } finally {
      this.database.enableLoadExtension(false)
    }
    this.#extensions.add(path)
  }

  /** Makes the tables of words, and the file, as small as they can be. Takes a second for 50 MB of source. */
  mergeWords(): void {
    for (const table of ['body', 'chunk', 'path', 'definition', 'imports'])
      this.run(`insert into ${table} (${table}) values ('optimize')`)
    this.database.exec('vacuum')
    this.database.exec('pragma wal_checkpoint(truncate)')
  }
}
