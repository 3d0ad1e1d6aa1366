import { setImmediate as nextTurn } from 'node:timers/promises'
import type { ParsedFile } from '../../base/syntax/parsed-file.ts'
import type { ParseOutcome } from '../../base/syntax/parser.ts'
import { admitFile, decodeText, isGenerated } from './admission.ts'
import { updateHistory } from './history.ts'
import type { IndexFile } from './index-file.ts'
import type { RunGit, SourceEntry, SourceTree } from './source-tree.ts'
import { type IndexedFile, putFile, removeFile } from './write-files.ts'

/** Parses files and yields what became of them, some at a time, in any order. A file that breaks the parser costs no other file. */
export type ParseFiles = (
  files: AsyncIterable<{ path: string; text: string }>,
  signal?: AbortSignal,
) => AsyncIterable<ParseOutcome[]>

export interface UpdateProgress {
  done: number
  total: number
}

/** What an update did. */
export interface UpdateResult {
  commit: string | undefined
  dirtyFiles: number
  /** Files in the index now. */
  files: number
  /** How many were read, and how many were taken out. */
  read: number
  removed: number
  /** Files whose syntax is not known, and why: their text is found by lines. */
  problems: { path: string; problem: string }[]
}

/** Files that are written in one transaction. It takes some 100 ms: whoever searches meanwhile waits for no more than that. */
const BATCH_BYTES = 250_000

/** After so many files the tables are merged into one piece each: they become smaller, and faster to search. */
const MERGE_AFTER = 500

/** Makes the index hold what a tree holds. What has the same key is not read again, so an update that was called off goes on where it ended. */
export async function updateIndex(
  index: IndexFile,
  tree: SourceTree,
  {
    git,
    parse,
    onProgress,
  }: { git: RunGit; parse: ParseFiles; onProgress?: ((progress: UpdateProgress) => void) | undefined },
  signal?: AbortSignal,
): Promise<UpdateResult> {
  const known = new Map(
    index.rows<{ path: string; key: string }>('select path, key from files').map(({ path, key }) => [path, key]),
  )
  const present = new Set(tree.entries.map(({ path }) => path))
  const gone = [...known.keys()].filter(path => !present.has(path))
  index.transaction(() => {
    for (const path of gone) removeFile(index, path)
  })
  const changed = tree.entries.filter(
    ({ path, key }) => known.get(path) !== key && admitFile({ path, size: 0 }).holds !== 'none',
  )
  let done = 0
  for await (const files of readAndParse(tree, changed, parse, signal)) {
    index.transaction(() => {
      for (const file of files) 'gone' in file ? removeFile(index, file.gone) : putFile(index, file)
    })
    done += files.length
    onProgress?.({ done, total: changed.length })
    await nextTurn()
  }
  signal?.throwIfAborted()
  if (changed.length > MERGE_AFTER) index.mergeWords()
  await updateHistory(index, { commit: tree.commit, git }, signal)
  const problems = index.rows<{ path: string; problem: string }>(
    'select path, problem from files where problem is not null order by path',
  )
  const { commit, dirtyFiles } = tree
  const files = known.size - gone.length + changed.filter(({ path }) => !known.has(path)).length
  return { commit, dirtyFiles, files, read: changed.length, removed: gone.length, problems }
}

type ReadFile = IndexedFile | { gone: string }

/**
 * Reads files, has them parsed and yields them in batches. The parser takes the next file when it is ready for it, so only a few texts are in memory.
 * A file that is not parsed, for whatever reason, is split by lines.
 */
async function* readAndParse(
  tree: SourceTree,
  entries: readonly SourceEntry[],
  parse: ParseFiles,
  signal?: AbortSignal,
) {
  const inParser = new Map<string, IndexedFile & { text: string }>()
  let batch: ReadFile[] = []
  let bytes = 0
  const take = (file: ReadFile) => {
    batch.push(file)
    bytes += ('text' in file && file.text?.length) || 100
  }
  const takeBatch = () => {
    const taken = batch
    batch = []
    bytes = 0
    return taken
  }
  async function* texts() {
    for (const entry of entries) {
      signal?.throwIfAborted()
      const file = await readForIndex(tree, entry)
      if (file?.text === undefined) take(file ?? { gone: entry.path })
      else {
        inParser.set(file.path, { ...file, text: file.text })
        yield { path: file.path, text: file.text }
      }
    }
  }
  const settle = (outcome: ParseOutcome) => {
    const file = inParser.get(outcome.path)
    if (!file) return
    inParser.delete(outcome.path)
    if ('parsed' in outcome) take({ ...file, parsed: outcome.parsed })
    else take({ ...file, parsed: splitByLines(file.path, file.text), problem: outcome.skipped })
  }
  for await (const outcomes of parse(texts(), signal)) {
    for (const outcome of outcomes) {
      settle(outcome)
      if (bytes >= BATCH_BYTES) yield takeBatch()
    }
  }
  signal?.throwIfAborted()
  for (const { path } of [...inParser.values()]) settle({ path, skipped: 'the parser returned nothing for it' })
  yield takeBatch()
}

async function readForIndex(tree: SourceTree, entry: SourceEntry): Promise<IndexedFile | undefined> {
  const { path, key } = entry
  const found = await tree.read(entry)
  if (!found) return undefined
  const { content, size, isSure } = found
  const admission = admitFile({ path, size, content })
  if (admission.holds === 'none') return undefined
  const about = { path, key: isSure ? key : '' }
  if (admission.holds === 'name' || !content) return { ...about, generated: isGenerated(path, '') }
  const text = decodeText(content)
  return { ...about, generated: isGenerated(path, text), text }
}

/** About as many lines as people show of an unknown text. */
const WINDOW_LINES = 40

/** What is known of a file without its syntax. */
export function splitByLines(path: string, text: string): ParsedFile {
  const lines = text.split('\n').length
  const chunks = Array.from({ length: Math.ceil(lines / WINDOW_LINES) }, (_, window) => ({
    startLine: window * WINDOW_LINES + 1,
    endLine: Math.min(lines, (window + 1) * WINDOW_LINES),
    header: path,
  }))
  return { language: 'text', definitions: [], imports: [], calls: [], inherits: [], chunks }
}
