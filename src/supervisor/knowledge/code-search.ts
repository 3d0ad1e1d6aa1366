import type { AppPaths } from '../../base/app-paths.ts'
import { AppError } from '../../base/errors.ts'
import { type OwnProcess, startOwnProcess } from '../../base/process/own-process.ts'
import type { FoundProviders } from '../../brain/embedder.ts'
import type { FileContext, RelatedAnswer } from '../../knowledge/graph/ask-graph.ts'
import type { IndexStamp, SearchAnswer } from '../../knowledge/index/code-index.ts'
import type { SearchResult } from '../../knowledge/index/search.ts'
import type { UpdateProgress, UpdateResult } from '../../knowledge/index/update.ts'
import type { DescribedTask, PredictedOverlap } from '../../knowledge/overlap.ts'
import type { PolicyRule } from '../../policy/verdict/rules.ts'

/** A search for code. */
export interface CodeQuery {
  query: string
  top?: number | undefined
  /** Only below this folder, or files that match this pattern with `*`. */
  path?: string | undefined
  /** The query is the name of a definition. */
  symbol?: boolean | undefined
  /** How long an index that is behind the project is waited for. */
  freshMs?: number | undefined
  /** Also say with which files each result is connected. */
  neighbours?: boolean | undefined
  /** A person asks: if words alone decide, the first answer says why. */
  explained?: boolean | undefined
}

/** The files around a file, a few of each. */
export interface FileNeighbours {
  uses: string[]
  used_by: string[]
  changed_with: string[]
}

export interface CodeAnswer extends Omit<SearchAnswer, 'wordsAlone'> {
  results: (SearchResult & { neighbours?: FileNeighbours | undefined })[]
  /** A sentence for the person, once for each index: why words alone decide. */
  note?: string | undefined
}

/** An answer of the graph; `answer` is undefined if the index has no such name. */
export interface GraphReply<T> {
  answer: T | undefined
  stamp: IndexStamp
}

export interface UpdateOptions {
  /** Forget everything and read the project again. */
  rebuild?: boolean
  /** Do nothing for a project outside of git. */
  onlyInGit?: boolean
  /** Also count what the index holds, and explain once why there are no embeddings. */
  counted?: boolean
}

export interface IndexCounts {
  /** Files with at least one definition. */
  modules: number
  functions: number
  chunks: number
  /** Chunks that have a vector. */
  embedded: number
}

export type UpdateReply = UpdateResult & { counts?: IndexCounts; note?: string | undefined }

/** A task, and those that it is compared with. */
export interface ComparedTasks {
  task: DescribedTask
  others: readonly DescribedTask[]
}

/** Who embeds the code of a project, and the rules about what may be read. */
export type EmbeddingSetup = FoundProviders & { rules: PolicyRule[]; home: string }

/** Texts to embed, each with the files of the project that it names. */
export interface EmbedCall {
  texts: readonly { text: string; files: readonly string[] }[]
  purpose: 'document' | 'query'
  model?: string | undefined
}

/** A vector for each text; null for one that names a file which a rule keeps from agents. */
export type EmbedReply = { model: string; vectors: readonly (readonly number[] | null)[] } | { problem: string }

/** What the process with the indexes can do, for a project or a worktree of it. */
export type IndexCall = { project: string } & (
  | ({ does: 'update'; embedding?: EmbeddingSetup | undefined } & UpdateOptions)
  | { does: 'progress' }
  | ({ does: 'search'; embedding?: EmbeddingSetup | undefined } & CodeQuery)
  | { does: 'related'; entity: string; depth: number }
  | { does: 'file-context'; path: string }
  | ({ does: 'overlap' } & ComparedTasks)
  | ({ does: 'embed'; embedding?: EmbeddingSetup | undefined } & EmbedCall)
)

/** The messages to that process, and its replies. */
export type IndexRequest = { id: number; call: IndexCall } | { id: number; calledOff: true }
export type IndexReply = { id: number; value: unknown } | { id: number; problem: string }

/** The code of projects, searched in a process of its own that starts on use. A call that fails rejects with `code_search_failed`. */
export interface CodeSearch extends Disposable {
  /** Brings the index of a project up to date, or makes it anew. Undefined if `onlyInGit` forbids it. */
  update(project: string, options?: UpdateOptions & { signal?: AbortSignal }): Promise<UpdateReply | undefined>
  /** How far an update is that `update` has started. */
  progress(project: string): Promise<UpdateProgress | undefined>
  search(project: string, query: CodeQuery, signal?: AbortSignal): Promise<CodeAnswer>
  related(project: string, what: { entity: string; depth: number }): Promise<GraphReply<RelatedAnswer>>
  fileContext(project: string, path: string): Promise<GraphReply<FileContext>>
  /** How probably a task and each of some others will change a common file; none if there is no index yet. */
  overlap(project: string, tasks: ComparedTasks, signal?: AbortSignal): Promise<PredictedOverlap[]>
  /** Embeds texts about a project as its code is embedded: by the same provider, under the same rules. */
  embed(project: string, call: EmbedCall, signal?: AbortSignal): Promise<EmbedReply>
  /** How long a prompt waits for what is found: a start never waits longer. */
  readonly patienceMs: number
  /** The pid of the process, while there is one. */
  readonly pid: number | undefined
}

interface WaitingCall {
  request: IndexRequest
  /** A process that has just become idle may end while a call is on its way: the call is made once more. */
  mayRepeat: boolean
  settle(reply: { value: unknown } | { problem: string }): void
}

const PATIENCE_MS = 150

interface CodeSearchOptions {
  patienceMs?: number
  /** Who embeds the code of a project. Sent with each call, because settings change while the process lives, and keys belong neither into arguments nor into variables. */
  embeddingFor?: (project: string) => Promise<EmbeddingSetup | undefined>
}

export function startCodeSearch(
  { data }: Pick<AppPaths, 'data'>,
  { patienceMs = PATIENCE_MS, embeddingFor = async () => undefined }: CodeSearchOptions = {},
): CodeSearch {
  const waiting = new Map<number, WaitingCall>()
  let child: OwnProcess | undefined
  let isClosed = false
  let last = 0

  const send = (request: IndexRequest) => {
    const process = ensureChild()
    process.channel?.ref()
    if (process.connected) process.send(request, () => undefined)
  }
  const ensureChild = () => {
    if (child?.connected) return child
    const started = startChild(data)
    started.on('message', (reply: IndexReply) => {
      const call = waiting.get(reply.id)
      waiting.delete(reply.id)
      if (waiting.size === 0) started.channel?.unref()
      call?.settle(reply)
    })
    const onGone = () => {
      if (child !== started) return
      child = undefined
      for (const [id, call] of [...waiting]) {
        if (call.mayRepeat && !isClosed) {
          call.mayRepeat = false
          send(call.request)
        } else {
          waiting.delete(id)
          call.settle({ problem: 'the process with the index has ended' })
        }
      }
    }
    started.on('error', onGone) // a process that could not be started has an error and no exit
    started.on('disconnect', onGone)
    child = started
    return started
  }
  const ask = async <T>(call: IndexCall, signal?: AbortSignal): Promise<T> => {
    signal?.throwIfAborted()
    last += 1
    const id = last
    const { promise, resolve } = Promise.withResolvers<{ value: unknown } | { problem: string }>()
    const callOff = () => {
      if (child?.connected) child.send({ id, calledOff: true } satisfies IndexRequest, () => undefined)
    }
    signal?.addEventListener('abort', callOff, { once: true })
    waiting.set(id, { request: { id, call }, mayRepeat: true, settle: resolve })
    send({ id, call })
    const reply = await promise
    signal?.removeEventListener('abort', callOff)
    signal?.throwIfAborted()
    if ('problem' in reply) throw new AppError('code_search_failed', { project: call.project, problem: reply.problem })
    return reply.value as T
  }

  return {
    patienceMs,
    get pid() {
      return child?.pid
    },
    async update(project, { signal, ...options } = {}) {
      return ask({ does: 'update', project, embedding: await embeddingFor(project), ...options }, signal)
    },
    progress: project => ask({ does: 'progress', project }),
    async search(project, query, signal) {
      return ask({ does: 'search', project, embedding: await embeddingFor(project), ...query }, signal)
    },
    related: (project, what) => ask({ does: 'related', project, ...what }),
    fileContext: (project, path) => ask({ does: 'file-context', project, path }),
    overlap: (project, tasks, signal) => ask({ does: 'overlap', project, ...tasks }, signal),
    async embed(project, call, signal) {
      return ask({ does: 'embed', project, embedding: await embeddingFor(project), ...call }, signal)
    },
    [Symbol.dispose]() {
      isClosed = true
      if (child?.connected) child.disconnect()
    },
  }
}

/** Git needs to know where the person's home and programs are. */
function startChild(data: string): OwnProcess {
  const { PATH, HOME, XDG_CONFIG_HOME, NODE_COMPILE_CACHE, PCC_TEST_RUN } = process.env
  return startOwnProcess('supervisor/knowledge/code-search-child', {
    flags: ['--max-semi-space-size=4'],
    args: [data],
    env: { PATH, HOME, XDG_CONFIG_HOME, NODE_COMPILE_CACHE, PCC_TEST_RUN },
  })
}
