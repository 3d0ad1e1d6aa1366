import type { IndexFile } from './index-file.ts'
import { namesIn, queryTokens, wholeOf } from './tokens.ts'
import { CHUNKS_PER_FILE } from './write-files.ts'

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
  /** For every word of the query that is the exact name of a definition in the file. */
  exact: number
  /** How much more a file counts that was changed just now than one that nobody has touched for long. */
  recency: number
  /** What remains of the score of a test, an example or generated code, unless the query speaks of such. */
  aside: number
}

const WEIGHTS: Weights = {
  body: 1,
  chunk: 1,
  path: 1,
  definition: 1,
  history: 1,
  exact: 2,
  recency: 0.2,
  aside: 0.8,
}

export interface RankedFile {
  id: number
  path: string
  score: number
  /** Its chunks that match, the best first. */
  chunks: { number: number; score: number }[]
}

/** How many rows of each table are looked at. Below, nothing would still reach the first ten. */
const DEPTH = 300
/** More tokens are a text, not a question: the rarest say what it is about. */
const MOST_TOKENS = 32

/** The files that match a query, the best first. Pure but for reading the index. */
export function rankFiles(index: IndexFile, query: string, weights: Weights = WEIGHTS): RankedFile[] {
  const tokens = chooseTokens(index, query)
  if (tokens.length === 0) return []
  const match = matchAny(tokens)
  const scores = new Map<number, number>()
  const add = (id: number, score: number) => scores.set(id, (scores.get(id) ?? 0) + score)
  for (const table of ['body', 'path', 'definition'] as const)
    if (weights[table] > 0) for (const { id, score } of topRows(index, table, match)) add(id, weights[table] * score)
  const chunks = new Map<number, RankedFile['chunks']>()
  for (const { id, score } of topRows(index, 'chunk', match)) {
    const file = Math.floor(id / CHUNKS_PER_FILE)
    const matching = chunks.get(file)
    if (matching) matching.push({ number: id % CHUNKS_PER_FILE, score })
    else chunks.set(file, [{ number: id % CHUNKS_PER_FILE, score }])
  }
  for (const [id, [best]] of chunks) add(id, weights.chunk * (best?.score ?? 0))
  if (weights.history > 0) for (const { id, score } of scoreHistory(index, match)) add(id, weights.history * score)
  if (weights.exact > 0) {
    const exact = matchAny(namesIn(query).map(name => `=${name}`))
    for (const { id, score } of topRows(index, 'definition', exact)) add(id, weights.exact * score)
  }
  return finish(index, { scores, chunks, query, weights })
}

/** The files that define a name, all forms of writing it alike. */
export function filesThatDefine(index: IndexFile, name: string): Set<number> {
  return new Set(topRows(index, 'definition', matchAny([`=${wholeOf(name)}`])).map(({ id }) => id))
}

function topRows(index: IndexFile, table: string, match: string): { id: number; score: number }[] {
  if (match === '') return []
  return index.rows(
    `select rowid as id, -rank as score from ${table} where ${table} match ? order by rank limit ${DEPTH}`,
    match,
  )
}

/** Tokens never contain a quote. */
function matchAny(tokens: readonly string[]): string {
  return tokens.map(token => `"${token}"`).join(' OR ')
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

/** The rest of a longer text is not read. */
const LONGEST_QUERY = 20_000

/**
 * What earlier commits with similar subjects changed. A commit that changed few files says more about each. The sum over several
 * commits grows slowly, so that a file that is changed all the time does not always win.
 */
function scoreHistory(index: IndexFile, match: string): { id: number; score: number }[] {
  const evidence = new Map<number, { best: number; rest: number }>()
  for (const { id: commit, score } of topRows(index, 'history', match)) {
    const files = index.rows<{ id: number }>(
      `select files.id from changes join names on names.id = changes.name_id join files on files.path = names.path
       where commit_id = ?`,
      commit,
    )
    for (const { id } of files) {
      const share = score / Math.sqrt(files.length)
      const known = evidence.get(id)
      if (known) known.rest += share
      else evidence.set(id, { best: share, rest: 0 })
    }
  }
  return [...evidence].map(([id, { best, rest }]) => ({ id, score: best + Math.log2(1 + rest) }))
}

interface Unfinished {
  scores: Map<number, number>
  chunks: Map<number, RankedFile['chunks']>
  query: string
  weights: Weights
}

function finish(index: IndexFile, { scores, chunks, query, weights }: Unfinished): RankedFile[] {
  const newest = index.row<{ time: number | null }>('select max(time) as time from commits')?.time ?? 0
  const ranked: RankedFile[] = []
  for (const [id, sum] of scores) {
    const file = index.row<{ path: string; generated: number; changed_at: number | null }>(
      'select files.path, generated, changed_at from files left join names on names.path = files.path where files.id = ?',
      id,
    )
    if (!file) continue
    const age = Math.max(0, newest - (file.changed_at ?? 0)) / DAY_SECONDS
    const recency = 1 + weights.recency * 2 ** (-age / HALF_LIFE_DAYS)
    const penalty = weights.aside < 1 && isAside(file.path, file.generated === 1, query) ? weights.aside : 1
    ranked.push({ id, path: file.path, score: sum * recency * penalty, chunks: chunks.get(id) ?? [] })
  }
  return ranked.sort((a, b) => b.score - a.score || (a.path < b.path ? -1 : 1))
}

const DAY_SECONDS = 86_400
const HALF_LIFE_DAYS = 90

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
