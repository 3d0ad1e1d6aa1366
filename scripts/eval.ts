import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { parseArgs } from 'node:util'
import { openParser, type Parser } from '../src/base/syntax/parser.ts'
import { eachToken, queryTokens } from '../src/base/tokens.ts'
import { admitFile, decodeText } from '../src/knowledge/index/admission.ts'
import { IndexFile } from '../src/knowledge/index/index-file.ts'
import { rankFiles, WEIGHTS, type Weights } from '../src/knowledge/index/rank.ts'
import type { SourceTree } from '../src/knowledge/index/source-tree.ts'
import { updateIndex } from '../src/knowledge/index/update.ts'
import { commitTree, type Git, gitIn, type HistoryQuery, historyQueries } from './eval/commit-tree.ts'
import { reportMemory } from './eval/memory.ts'
import { reportOverlap } from './eval/overlap.ts'

// npm run eval [-- --repo <path> --queries 200 --before <commit> --json]: how well the index finds the files that commits of a repository changed, by
// their subjects. Every query sees only what was there before its commit: files and history. The index goes from commit to commit.

const { values } = parseArgs({
  options: {
    repo: { type: 'string', default: '.' },
    queries: { type: 'string', default: '200' },
    before: { type: 'string', default: 'HEAD' },
    json: { type: 'boolean', default: false },
    overlap: { type: 'boolean', default: false },
    memory: { type: 'boolean', default: false },
  },
})

/** What is left out of the ranking, to see what it is worth. */
const VARIANTS: Record<string, Partial<Weights>> = {
  'all evidence': {},
  'without history': { history: 0 },
  'without definitions': { definition: 0, exact: 0 },
  'without chunks': { chunk: 0 },
  'without bodies': { body: 0 },
  'without paths': { path: 0 },
  'without recency': { recency: 0 },
  'without penalties': { aside: 1 },
}
const UNSPLIT = 'without splitting'
const BASELINE = 'BM25 of bodies, split'

interface Score {
  recall5: number
  recall10: number
  reciprocal: number
}

if (values.overlap) {
  await reportOverlap(resolve(values.repo))
  process.exit()
}

if (values.memory) {
  reportMemory()
  process.exit()
}

const git = gitIn(resolve(values.repo))
const queries = historyQueries(git, Number(values.queries), values.before)
const folder = mkdtempSync(join(tmpdir(), 'pcc-eval-'))
using parser = openParser()
const started = performance.now()
try {
  const scores = await evaluate(queries)
  report(scores)
} finally {
  rmSync(folder, { recursive: true, force: true })
}

/** The mean scores of every variant, and how many queries had an answer in the index. */
async function evaluate(queries: readonly HistoryQuery[]): Promise<{ asked: number; scores: Map<string, Score> }> {
  const index = new IndexFile(join(folder, 'split.db'))
  const unsplit = new IndexFile(join(folder, 'unsplit.db'))
  const baseline = openBaseline()
  const scores = new Map<string, Score>()
  let asked = 0
  for (const [at, { subject, parent, changed }] of queries.entries()) {
    const tree = commitTree(git, parent, changedSince(index))
    await bringTo(index, tree, git, parser)
    await bringTo(unsplit, withoutSplitting(tree), git, parser)
    await baseline.bringTo(tree)
    const relevant = changed.filter(path => index.row('select 1 from files where path = ?', path))
    if (relevant.length === 0) continue
    asked += 1
    const add = (variant: string, found: string[]) => addScore(scores, variant, found, relevant)
    add(BASELINE, baseline.search(subject))
    for (const [variant, without] of Object.entries(VARIANTS))
      add(variant, top(rankFiles(index, subject, { weights: { ...WEIGHTS, ...without } })))
    const flat = new Map(tree.entries.map(({ path }) => [flatten(path), path]))
    add(
      UNSPLIT,
      top(rankFiles(unsplit, flatten(subject))).map(path => flat.get(path) ?? path),
    )
    if (process.stderr.isTTY) process.stderr.write(`\r${at + 1} of ${queries.length}`)
  }
  if (process.stderr.isTTY) process.stderr.write('\r')
  return { asked, scores }
}

function changedSince(index: IndexFile): (entry: { path: string; key: string }) => boolean {
  const known = new Map(
    index.rows<{ path: string; key: string }>('select path, key from files').map(({ path, key }) => [path, key]),
  )
  return ({ path, key }) => known.get(path) !== key
}

async function bringTo(index: IndexFile, tree: SourceTree, { runGit }: Git, { parse }: Parser): Promise<void> {
  await updateIndex(index, tree, { git: runGit, parse })
}

/** The same tree, written so that no word has parts: what is left of the search without its splitting of identifiers. */
function withoutSplitting(tree: SourceTree): SourceTree {
  const original = new Map(tree.entries.map(entry => [flatten(entry.path), entry]))
  return {
    ...tree,
    entries: [...original].map(([path, { key }]) => ({ path, key })),
    read: async ({ path }) => {
      const entry = original.get(path)
      const found = entry && (await tree.read(entry))
      if (!found?.content || admitFile({ ...found, path }).holds !== 'text') return found
      return { ...found, content: Buffer.from(flatten(decodeText(found.content))) }
    },
  }
}

/** Letters in the place of digits, because digits are parts, too. */
function flatten(text: string): string {
  return text.replace(/\w*[A-Z_\d]\w*/g, word =>
    word
      .replaceAll('_', '')
      .toLowerCase()
      .replace(/\d/g, digit => String.fromCharCode(103 + Number(digit))),
  )
}

/** What everybody has: one table of the files' words, ranked by SQLite. */
function openBaseline() {
  const database = new DatabaseSync(join(folder, 'baseline.db'))
  database.exec(`pragma synchronous = off; create table files (id integer primary key, path text unique, key text);
    create virtual table body using fts5(words, content = '', contentless_delete = 1, tokenize = 'ascii')`)
  const known = database.prepare('select id, path, key from files')
  const put = database.prepare('insert into files (path, key) values (?, ?)')
  const remove = database.prepare('delete from files where id = ?')
  const putWords = database.prepare('insert into body (rowid, words) values (?, ?)')
  const removeWords = database.prepare('delete from body where rowid = ?')
  const best = database.prepare(
    'select path from (select rowid as id from body where body match ? order by rank limit 10) join files using (id)',
  )
  return {
    async bringTo(tree: SourceTree): Promise<void> {
      const present = new Map(tree.entries.map(entry => [entry.path, entry.key]))
      const unchanged = new Set<string>()
      database.exec('begin')
      for (const { id, path, key } of known.all() as { id: number; path: string; key: string }[]) {
        if (present.get(path) === key) unchanged.add(path)
        else {
          remove.run(id)
          removeWords.run(id)
        }
      }
      for (const entry of tree.entries) {
        const content = unchanged.has(entry.path) ? undefined : (await tree.read(entry))?.content
        if (!content || admitFile({ path: entry.path, size: content.length, content }).holds !== 'text') continue
        const words: string[] = []
        eachToken(decodeText(content), token => words.push(token))
        putWords.run(put.run(entry.path, entry.key).lastInsertRowid, words.join(' '))
      }
      database.exec('commit')
    },
    search(query: string): string[] {
      const tokens = queryTokens(query)
      if (tokens.length === 0) return []
      const rows = best.all(tokens.map(token => `"${token}"`).join(' OR ')) as { path: string }[]
      return rows.map(({ path }) => path)
    },
  }
}

function top(ranked: readonly { path: string }[]): string[] {
  return ranked.slice(0, 10).map(({ path }) => path)
}

function addScore(scores: Map<string, Score>, variant: string, found: string[], relevant: string[]): void {
  const recall = (depth: number) =>
    relevant.filter(path => found.slice(0, depth).includes(path)).length / relevant.length
  const first = found.findIndex(path => relevant.includes(path))
  const sum = scores.get(variant) ?? { recall5: 0, recall10: 0, reciprocal: 0 }
  sum.recall5 += recall(5)
  sum.recall10 += recall(10)
  sum.reciprocal += first < 0 ? 0 : 1 / (first + 1)
  scores.set(variant, sum)
}

function report({ asked, scores }: { asked: number; scores: Map<string, Score> }): void {
  const mean = (sum: number) => (asked === 0 ? 0 : sum / asked)
  const rows = [...scores].map(([variant, { recall5, recall10, reciprocal }]) => ({
    ...{ variant, r5: mean(recall5), r10: mean(recall10), mrr: mean(reciprocal) },
  }))
  if (values.json) {
    process.stdout.write(`${JSON.stringify({ repo: values.repo, queries: asked, rows }, null, 2)}\n`)
    return
  }
  const seconds = Math.round((performance.now() - started) / 1000)
  process.stdout.write(`${asked} queries from the history of ${resolve(values.repo)}, ${seconds} s\n\n`)
  process.stdout.write(`${'ranking'.padEnd(24)}   R@5  R@10   MRR\n`)
  for (const { variant, r5, r10, mrr } of rows)
    process.stdout.write(`${variant.padEnd(24)} ${[r5, r10, mrr].map(value => value.toFixed(3)).join(' ')}\n`)
}
