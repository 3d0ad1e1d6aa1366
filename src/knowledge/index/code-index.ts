import { createHash } from 'node:crypto'
import { realpathSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Embedder } from '../../domain/embedder.ts'
import { removeDerivedFile } from '../../store/derived-file.ts'
import { FreshnessCheck } from './freshness.ts'
import { IndexFile } from './index-file.ts'
import { type SearchOptions, type SearchResult, searchIndex } from './search.ts'
import { type RunGit, readWorkingTree } from './source-tree.ts'
import { type ParseFiles, type UpdateProgress, type UpdateResult, updateIndex } from './update.ts'
import { type Embedding, type EmbedResult, embedChunks, nearestFiles } from './vectors.ts'

export interface IndexOptions {
  /** The top of the project: its main checkout, also for its worktrees. */
  projectRoot: string
  /** The folder of the installation's data. */
  data: string
  /** Runs git in `projectRoot`. */
  git: RunGit
  parse: ParseFiles
  /** Files that the index does not hold, such as those with secrets. */
  isHidden?: ((path: string) => boolean) | undefined
}

/** To what an answer refers. */
export interface IndexStamp {
  commit: string | undefined
  dirtyFiles: number
  /** The project has changed, and the update took longer than the search was allowed to wait. */
  isStale: boolean
}

export interface SearchAnswer {
  results: SearchResult[]
  stamp: IndexStamp
  /** Why embeddings were not used, if they were not. */
  wordsAlone?: string
}

export interface AskOptions {
  /** How long an update of the index is waited for. */
  freshMs?: number
  signal?: AbortSignal
}

/** How long a search waits for the index to be brought up to date, if it does not say. */
const FRESH_MS = 400

/** A question is embedded in so much time, or not at all. */
const EMBED_MS = 2000

/** The file of a project's index. */
export function indexPath({ data, projectRoot }: Pick<IndexOptions, 'data' | 'projectRoot'>): string {
  const name = createHash('sha256').update(projectRoot).digest('hex').slice(0, 16)
  return join(data, 'index', `${name}.db`)
}

/** Opens the index of a project. It is empty until the first update. */
export function openIndex(options: IndexOptions): CodeIndex {
  return new CodeIndex({ ...options, projectRoot: realpathSync(options.projectRoot) })
}

/** The index of one project. One update runs at a time; searches meanwhile see what is written so far. */
export class CodeIndex implements AsyncDisposable {
  readonly #options: IndexOptions
  readonly #path: string
  readonly #freshness: FreshnessCheck
  readonly #ended = new AbortController()
  #file: IndexFile
  #running: Promise<unknown> = Promise.resolve()
  #waiting: Promise<UpdateResult> | undefined
  #prefix: string | undefined
  #embedding: Promise<unknown> = Promise.resolve()
  #embedEnd = new AbortController()

  constructor(options: IndexOptions) {
    this.#options = options
    this.#path = indexPath(options)
    this.#file = new IndexFile(this.#path)
    this.#freshness = new FreshnessCheck(options.projectRoot)
  }

  /** Brings the index up to date. Whoever calls while an update runs gets the next one, which sees every change made before the call. */
  update(signal?: AbortSignal, onProgress?: (progress: UpdateProgress) => void): Promise<UpdateResult> {
    if (this.#waiting && !onProgress) return this.#waiting
    const next = this.#running.then(() => {
      this.#waiting = undefined
      return this.#updateNow(signal, onProgress)
    })
    this.#waiting = next
    this.#running = next.catch(() => undefined)
    return next
  }

  /** Forgets everything and reads the project again. */
  async rebuild(signal?: AbortSignal, onProgress?: (progress: UpdateProgress) => void): Promise<UpdateResult> {
    this.#embedEnd.abort()
    await Promise.all([this.#running, this.#embedding])
    this.#embedEnd = new AbortController()
    this.#file.close()
    removeDerivedFile(this.#file.path)
    this.#file = new IndexFile(this.#path)
    return this.update(signal, onProgress)
  }

  /** Searches, after a look whether the project has changed. `freshMs` bounds how long an update is waited for. Without an embedder, words alone decide. */
  async search(
    query: string,
    { embedder, ...options }: SearchOptions & AskOptions & { embedder?: Embedder | undefined } = {},
  ): Promise<SearchAnswer> {
    const nearest = await this.#findNearest(query, embedder, options)
    const wordsAlone = 'problem' in nearest ? nearest.problem : undefined
    const found = 'problem' in nearest ? {} : { nearest }
    const { answer, stamp } = await this.ask(
      file => searchIndex(file, this.#options.projectRoot, query, { ...options, ...found }),
      options,
    )
    return { results: answer, stamp, ...(wordsAlone !== undefined && { wordsAlone }) }
  }

  /** Embeds what has no vector yet. Call it after an update; it may take long. */
  embed(embedding: Embedding, signal?: AbortSignal): Promise<EmbedResult> {
    const until = AbortSignal.any([this.#ended.signal, this.#embedEnd.signal, ...(signal ? [signal] : [])])
    const root = this.#options.projectRoot
    const work = this.#embedding.then(() => embedChunks(this.#openFile(), { root, ...embedding }, until))
    this.#embedding = work.catch(() => undefined)
    return work
  }

  /** Whether something that is true has to be said: only the first time since it was not, also if another process said it. */
  sayOnce(what: string, isTrue: boolean): boolean {
    const file = this.#openFile()
    const isSaid = file.readMeta(what) === 'said'
    if (isSaid !== isTrue) file.writeMeta(what, isTrue ? 'said' : '')
    return isTrue && !isSaid
  }

  /** Asks the index something else: `related`, `fileContext`, `impactOf`. */
  async ask<Answer>(
    question: (file: IndexFile) => Answer,
    { freshMs = FRESH_MS, signal }: AskOptions = {},
  ): Promise<{ answer: Answer; stamp: IndexStamp }> {
    const isStale = !(await this.#refresh(freshMs, signal))
    const file = this.#openFile()
    return { answer: question(file), stamp: { ...readStamp(file), isStale } }
  }

  /** What the index refers to, without a look at the project. */
  stamp(): Omit<IndexStamp, 'isStale'> {
    return readStamp(this.#openFile())
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#ended.abort()
    await Promise.all([this.#running, this.#embedding])
    this.#file.close()
  }

  /** What embeddings find, or why they find nothing. Never delays an answer by more than `EMBED_MS`. */
  async #findNearest(query: string, embedder: Embedder | undefined, { symbol, signal }: SearchOptions & AskOptions) {
    if (symbol) return []
    if (!embedder) return { problem: 'no provider of embeddings is set up' }
    const until = AbortSignal.any([AbortSignal.timeout(EMBED_MS), ...(signal ? [signal] : [])])
    return nearestFiles(this.#openFile(), query, embedder, until)
  }

  /** False if the index is still behind the project when the time is over; the update goes on. */
  async #refresh(budgetMs: number, signal?: AbortSignal): Promise<boolean> {
    if (!this.#file.isLost && this.#freshness.isUnchanged()) return true
    const timer = new AbortController()
    const update = this.update().then(
      () => true,
      () => false, // a project that cannot be read is searched as it was
    )
    const until = AbortSignal.any([timer.signal, ...(signal ? [signal] : [])])
    const late = sleep(budgetMs, false, { signal: until }).catch(() => false)
    const isFresh = await Promise.race([update, late])
    timer.abort()
    signal?.throwIfAborted()
    return isFresh
  }

  async #updateNow(signal?: AbortSignal, onProgress?: (progress: UpdateProgress) => void): Promise<UpdateResult> {
    const until = AbortSignal.any([this.#ended.signal, ...(signal ? [signal] : [])])
    until.throwIfAborted()
    const { projectRoot: root, git, parse, isHidden = () => false } = this.#options
    this.#prefix ??= await readPrefix(git, until)
    const look = this.#freshness.begin()
    const all = await readWorkingTree({ root, prefix: this.#prefix, git }, until)
    const tree = { ...all, entries: all.entries.filter(({ path }) => !isHidden(path)) }
    const file = this.#openFile()
    const result = await updateIndex(file, tree, { git, parse, onProgress }, until)
    file.transaction(() => {
      file.writeMeta('commit', tree.commit ?? '')
      file.writeMeta('dirty_files', String(tree.dirtyFiles))
    })
    look.complete(tree.entries.map(({ path }) => path))
    return result
  }

  /** Somebody may have removed the file: then a new one is made, and the next update fills it. */
  #openFile(): IndexFile {
    if (this.#file.isLost) {
      this.#file.close()
      this.#file = new IndexFile(this.#path)
    }
    return this.#file
  }
}

/** Where the project is inside its repository: empty at the top, and outside of git. */
async function readPrefix(git: RunGit, signal: AbortSignal): Promise<string> {
  const { ok, stdout } = await git(['rev-parse', '--show-prefix'], { signal })
  return ok ? stdout.replace(/\n$/, '') : ''
}

function readStamp(file: IndexFile): Omit<IndexStamp, 'isStale'> {
  return { commit: file.readMeta('commit') || undefined, dirtyFiles: Number(file.readMeta('dirty_files') ?? 0) }
}
