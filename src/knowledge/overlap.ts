import { posix } from 'node:path'
import { queryTokens } from '../base/tokens.ts'
import { changedWith } from './graph/graph-tables.ts'
import type { IndexFile } from './index/index-file.ts'
import { rankFiles } from './index/rank.ts'
import { NOTES_FOLDER } from './read-notes.ts'

/** A task as far as it says where it will work. */
export interface DescribedTask {
  id: string
  /** Title and description. */
  text: string
  /** Paths that it declares, or that earlier attempts at it have changed. */
  paths: readonly string[]
}

/** What two tasks are compared by. Computing one takes a search, comparing two takes microseconds. */
interface TaskOutline {
  /** How much each file has to do with the task. */
  files: Map<string, number>
  folders: Map<string, number>
  /** The same as `files`, spread to what history changed with the first of them. */
  spread: Map<string, number>
  words: Map<string, number>
  /** The part of the project that its first words name: `fix(store): …`. */
  scope: string | undefined
  chars: number
}

export interface PredictedOverlap {
  /** The other task. */
  id: string
  /** The probability that both will change a common file, from 0 to 1. */
  probability: number
  /** The folder that both most probably work in. Single files are seldom predicted right. */
  path: string
}

/** So many outlines are kept: more tasks are not compared at once. */
const MOST_OUTLINES = 200

/** Predicts which tasks will change the same files, and keeps what it has computed about each while the project stays the same. */
export class OverlapPredictor {
  readonly #outlines = new Map<string, TaskOutline>()
  #commit: string | undefined

  /** How probably a task and each of some others will change a common file. */
  predict(index: IndexFile, task: DescribedTask, others: readonly DescribedTask[]): PredictedOverlap[] {
    const commit = index.readMeta('commit')
    if (commit !== this.#commit || this.#outlines.size > MOST_OUTLINES) this.#outlines.clear()
    this.#commit = commit
    const own = this.#outline(index, task)
    return others.map(other => ({ id: other.id, ...compareOutlines(own, this.#outline(index, other)) }))
  }

  #outline(index: IndexFile, { text, paths }: DescribedTask): TaskOutline {
    const key = [text, ...paths].join('\0')
    const known = this.#outlines.get(key) ?? outlineTask(index, { text, paths })
    this.#outlines.set(key, known)
    return known
  }
}

/** So many files of a search count; what the next one scores is the background that everything matches. */
const MOST_FILES = 60
/** In a small project fewer count: there a search finds nearly every file for nearly every task. */
const MOST_SHARE = 0.25
/** So many of them bring in what history changed with them. */
const MOST_SPREAD = 10
const TEXT_CHARS = 4000
/** A word that is the name of a folder says where the work is. */
const FOLDER_WORD = 3

function outlineTask(index: IndexFile, { text, paths }: Omit<DescribedTask, 'id'>): TaskOutline {
  const words = text.slice(0, TEXT_CHARS)
  // Notes say much about a task, and are not what it changes.
  const ranked = rankFiles(index, words).filter(({ path }) => !path.startsWith(`${NOTES_FOLDER}/`))
  const most = Math.min(MOST_FILES, Math.ceil(countFiles(index) * MOST_SHARE))
  const background = ranked[most]?.score ?? 0
  const files = new Map(ranked.slice(0, most).map(({ path, score }) => [path, score - background]))
  const best = Math.max(1, ...files.values())
  for (const path of [...paths, ...pathsIn(words)]) files.set(path, 2 * best)
  return {
    files,
    folders: sumFolders(files),
    spread: spreadByHistory(index, files),
    words: weighWords(index, words, files.keys()),
    scope: /^\w+\(([\w./-]+)\)/.exec(text)?.[1],
    chars: Math.max(20, words.length),
  }
}

/**
 * How probably two tasks will change a common file. The weights were found on the history of this project, where they differ little: every sign
 * alone ranks pairs nearly as well as all of them. `npm run eval -- --overlap` measures it.
 */
function compareOutlines(a: TaskOutline, b: TaskOutline): Omit<PredictedOverlap, 'id'> {
  const score =
    cosine(a.files, b.files) +
    0.5 * cosine(a.folders, b.folders) +
    0.3 * cosine(a.spread, b.spread) +
    cosine(a.words, b.words) +
    (a.scope !== undefined && a.scope === b.scope ? 0.4 : 0) +
    // Whoever says more changes more.
    0.1 * Math.log(a.chars * b.chars)
  return { probability: 1 / (1 + Math.exp(-STEEPNESS * (score - EVEN_SCORE))), path: likeliestFolder(a, b) }
}

/** The logistic curve that was fitted to those pairs. */
const STEEPNESS = 2
const EVEN_SCORE = 2.6

function likeliestFolder({ folders }: TaskOutline, other: TaskOutline): string {
  const common = [...folders].map(([path, weight]) => ({ path, weight: weight * (other.folders.get(path) ?? 0) }))
  return common.reduce((best, each) => (each.weight > best.weight ? each : best), { path: '.', weight: 0 }).path
}

function sumFolders(files: ReadonlyMap<string, number>): Map<string, number> {
  const folders = new Map<string, number>()
  for (const [path, weight] of files) add(folders, posix.dirname(path), weight)
  return folders
}

function spreadByHistory(index: IndexFile, files: ReadonlyMap<string, number>): Map<string, number> {
  const spread = new Map(files)
  const first = [...files].sort((a, b) => b[1] - a[1]).slice(0, MOST_SPREAD)
  for (const [path, weight] of first)
    for (const other of changedWith(index, path, MOST_SPREAD)) add(spread, other.path, weight * other.share)
  return spread
}

function weighWords(index: IndexFile, text: string, paths: Iterable<string>): Map<string, number> {
  const folders = new Set([...paths].flatMap(path => queryTokens(posix.dirname(path).replaceAll('/', ' '))))
  const total = countFiles(index)
  return new Map(
    queryTokens(text).map(token => {
      const doc = index.row<{ doc: number }>('select doc from body_words where term = ?', token)?.doc ?? 0
      const rarity = Math.log((total + 1) / (doc + 1))
      return [token, rarity * (folders.has(token) ? Math.sqrt(FOLDER_WORD) : 1)]
    }),
  )
}

function countFiles(index: IndexFile): number {
  return index.row<{ files: number }>('select count(*) as files from files')?.files ?? 0
}

/** The files that a text names with their folders, whether they are there already or not. */
function pathsIn(text: string): string[] {
  return [...text.matchAll(/(?<![\w/.:-])(?:[\w-]+\/)+[\w.-]*\.[a-z]\w*\b/gi)].map(([path]) => path)
}

function add(sums: Map<string, number>, key: string, weight: number): void {
  sums.set(key, (sums.get(key) ?? 0) + weight)
}

function cosine(a: ReadonlyMap<string, number>, b: ReadonlyMap<string, number>): number {
  let common = 0
  for (const [key, weight] of a) common += weight * (b.get(key) ?? 0)
  const size = Math.sqrt(squares(a) * squares(b))
  return size > 0 ? common / size : 0
}

function squares(weights: ReadonlyMap<string, number>): number {
  let sum = 0
  for (const weight of weights.values()) sum += weight * weight
  return sum
}
