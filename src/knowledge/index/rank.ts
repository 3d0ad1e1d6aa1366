import { namesIn, queryTokens, wholeOf } from '../../base/tokens.ts'
import type { IndexFile } from './index-file.ts'
import { openRows, type ReadRows, type ScoredRow, scoreRows } from './score.ts'

/**
 * How much each kind of evidence counts. Every table has its own BM25, and the scores are added: columns of one table share one
 * saturation, so that a long body hides a matching path. `npm run eval` measures what each is worth.
 */
export interface Weights {
  body: number
  chunk: number
  path: number
  definition: number
  history: number
  /** For an identifier of the query that is the exact name of a definition in the file. */
  exact: number
  /** How much more a file counts that was changed just now than one that nobody has touched for long. */
  recency: number
  /** What remains of the score of a test, an example or generated code, unless the query speaks of such. */
  aside: number
}

/**
 * A path and an earlier commit are short and were chosen with care, so a match there says more than one in a text. Definitions are part of the
 * bodies already. Chosen by comparing some 70 settings on two stretches of our own history: no other project has confirmed them yet.
 */
export const WEIGHTS: Weights = {
  body: 0.7,
  chunk: 1.3,
  path: 1.5,
  definition: 0.5,
  history: 1.5,
  exact: 2,
  recency: 0.25,
  aside: 0.8,
}

export interface RankedFile {
  id: number
  path: string
  score: number
  /** Its chunks that match, the best first. */
  chunks: { number: number; score: number }[]
}

/** More tokens are a text, not a question: the rarest say what it is about. */
const MOST_TOKENS = 32

/** The files that match a query, the best first; only those of `within`, if it is given. Pure but for reading the index. */
export function rankFiles(
  index: IndexFile,
  query: string,
  { weights = WEIGHTS, within }: { weights?: Weights | undefined; within?: WantedFiles | undefined } = {},
): RankedFile[] {
  const tokens = chooseTokens(index, query)
  if (tokens.length === 0) return []
  const read = openRows(index)
  const files = { read, isWanted: within && ((id: number) => within.files.has(id)) }
  const scores = new Map<number, number>()
  const add = (id: number, score: number) => scores.set(id, (scores.get(id) ?? 0) + score)
  const telling = withoutCommon(index, tokens, read)
  for (const table of ['body', 'path', 'definition'] as const) {
    if (weights[table] === 0) continue
    const wanted = table === 'body' ? telling : tokens
    for (const { id, score } of scoreRows(index, table, wanted, files)) add(id, weights[table] * score)
  }
  const chunks = scoreChunks(index, telling, { read, isWanted: within?.hasChunk })
  for (const [id, [best]] of chunks) add(id, weights.chunk * (best?.score ?? 0))
  if (weights.history > 0) {
    for (const { id, score } of scoreHistory(index, tokens))
      if (files.isWanted?.(id) !== false) add(id, weights.history * score)
  }
  if (weights.exact > 0) {
    const exact = namesIn(query).map(name => `=${name}`)
    for (const { id, score } of scoreRows(index, 'definition', exact, files)) add(id, weights.exact * score)
  }
  return finish(index, { scores, chunks, query, weights })
}

/** The files that a search is limited to. */
export interface WantedFiles {
  files: ReadonlySet<number>
  hasChunk(chunk: number): boolean
}

/** Chooses files by their paths: before anything is ranked, so that what many other files match is found, too. */
export function filesWithin(index: IndexFile, isWanted: (path: string) => boolean): WantedFiles {
  const files = new Set<number>()
  const chunks = new Set<number>()
  const rows = index.rows<{ id: number; path: string; first: number; count: number }>(
    'select id, path, first_chunk as first, chunks as count from files',
  )
  for (const { id, path, first, count } of rows) {
    if (!isWanted(path)) continue
    files.add(id)
    for (let number = 0; number < count; number += 1) chunks.add(first + number)
  }
  return { files, hasChunk: chunk => chunks.has(chunk) }
}

/** The files that define a name, all forms of writing it alike. */
export function filesThatDefine(index: IndexFile, name: string): Set<number> {
  return new Set(openRows(index)('definition', `=${wholeOf(name)}`))
}

function chooseTokens(index: IndexFile, query: string): string[] {
  const tokens = queryTokens(query.slice(0, LONGEST_QUERY))
  if (tokens.length <= MOST_TOKENS) return tokens
  const occurrences = (token: string) =>
    index.row<{ doc: number }>('select doc from body_words where term = ?', token)?.doc ?? 0
  return tokens
    .map(token => ({ token, files: occurrences(token) }))
    .filter(({ files }) => files > 0)
    .sort((a, b) => a.files - b.files)
    .slice(0, MOST_TOKENS)
    .map(({ token }) => token)
}

/** A word that so many files contain says nothing about any of them, and takes the longest to look up. */
const COMMON_SHARE = 0.75
/** In a small project every word is common, and none takes long. */
const SMALL_FILES = 200

/** The tokens that are worth looking up in texts: all, if all are common. */
function withoutCommon(index: IndexFile, tokens: string[], read: ReadRows): string[] {
  const files = index.row<{ files: number }>('select count(*) as files from files')?.files ?? 0
  if (files < SMALL_FILES) return tokens
  const telling = tokens.filter(token => read('body', token).length <= files * COMMON_SHARE)
  return telling.length > 0 ? telling : tokens
}

/** The rest of a longer text is not read. */
const LONGEST_QUERY = 20_000

/** The matching chunks of each file, the best first. */
function scoreChunks(
  index: IndexFile,
  tokens: readonly string[],
  options: Parameters<typeof scoreRows>[3],
): Map<number, RankedFile['chunks']> {
  const scores = new Map(scoreRows(index, 'chunk', tokens, options).map(({ id, score }) => [id, score]))
  const rows = index.rows<{ chunk: number; file: number; first: number }>(
    `select found.value as chunk, files.id as file, first_chunk as first from json_each(?) found
     join files on files.first_chunk = (select max(first_chunk) from files where first_chunk <= found.value)`,
    JSON.stringify([...scores.keys()]),
  )
  const chunks = new Map<number, RankedFile['chunks']>()
  for (const { chunk, file, first } of rows) {
    const found = { number: chunk - first, score: scores.get(chunk) ?? 0 }
    const matching = chunks.get(file)
    if (matching) matching.push(found)
    else chunks.set(file, [found])
  }
  for (const matching of chunks.values()) matching.sort((a, b) => b.score - a.score)
  return chunks
}

/** So many similar commits are looked at. */
const MOST_COMMITS = 100

/**
 * What earlier commits with similar subjects changed. A commit that changed few files says more about each of them. Of several commits
 * each further one adds less, so that a file that is changed all the time does not always win.
 */
function scoreHistory(index: IndexFile, tokens: readonly string[]): ScoredRow[] {
  const evidence = new Map<number, { score: number; factor: number }>()
  for (const { id: commit, score } of scoreRows(index, 'history', tokens).slice(0, MOST_COMMITS)) {
    const names = index.rows<{ id: number }>('select name_id as id from changes where commit_id = ?', commit)
    for (const { id } of names) {
      const known = evidence.get(id) ?? { score: 0, factor: 1 }
      known.score += (known.factor * score) / Math.sqrt(names.length)
      known.factor *= FURTHER_COMMIT
      evidence.set(id, known)
    }
  }
  return [...evidence].map(([id, { score }]) => ({ id, score }))
}

const FURTHER_COMMIT = 0.6

interface Unfinished {
  scores: Map<number, number>
  chunks: Map<number, RankedFile['chunks']>
  query: string
  weights: Weights
}

/** So many of the best are weighed by their age and kind. */
const MOST_RANKED = 200

function finish(index: IndexFile, { scores, chunks, query, weights }: Unfinished): RankedFile[] {
  const last = index.row<{ id: number | null }>('select max(id) as id from commits')?.id ?? 0
  const best = [...scores].sort((a, b) => b[1] - a[1]).slice(0, MOST_RANKED)
  // The history knows files that are gone: they have no row.
  const files = index.rows<{ id: number; path: string; generated: number; changed: number }>(
    `select files.id, files.path, generated, changed from files join names on names.id = files.id
     where files.id in (select value from json_each(?))`,
    JSON.stringify(best.map(([id]) => id)),
  )
  const ranked: RankedFile[] = []
  for (const file of files) {
    const { id } = file
    const recency = 1 + weights.recency * 2 ** ((file.changed - last) / HALF_LIFE_COMMITS)
    const penalty = weights.aside < 1 && isAside(file.path, file.generated === 1, query) ? weights.aside : 1
    ranked.push({ id, path: file.path, score: (scores.get(id) ?? 0) * recency * penalty, chunks: chunks.get(id) ?? [] })
  }
  return ranked.sort((a, b) => b.score - a.score || (a.path < b.path ? -1 : 1))
}

/** Age is counted in commits, because a year is long in one project and short in another. */
const HALF_LIFE_COMMITS = 50

const TESTS =
  /(^|\/)(tests?|__tests__|specs?|testing|testdata|fixtures?|__snapshots__|e2e)\/|[._-](test|spec)s?\.\w+$|(^|\/)test_[^/]*$/i
const EXAMPLES = /(^|\/)(examples?|samples?|demos?|benchmarks?|bench)\//i

/** Whether a file is beside what a query is usually about. */
function isAside(path: string, generated: boolean, query: string): boolean {
  if (TESTS.test(path))
    return !/\b(tests?|testing|tested|specs?|fixtures?|mocks?|coverage|snapshots?|e2e)\b/i.test(query)
  if (EXAMPLES.test(path)) return !/\b(examples?|samples?|demos?|bench\w*)\b/i.test(query)
  return generated && !/\b(generat\w*|codegen|auto-?generated)\b/i.test(query)
}
