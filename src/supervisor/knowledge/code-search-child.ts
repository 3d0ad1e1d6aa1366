import { realpath } from 'node:fs/promises'
import { setPriority } from 'node:os'
import { join, relative } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { messageOf } from '../../base/errors.ts'
import { openParser } from '../../base/syntax/parser.ts'
import { fileContext, related } from '../../knowledge/graph/ask-graph.ts'
import { CodeGraph } from '../../knowledge/graph/code-graph.ts'
import { changedWith } from '../../knowledge/graph/graph-tables.ts'
import { type CodeIndex, openIndex } from '../../knowledge/index/code-index.ts'
import type { IndexFile } from '../../knowledge/index/index-file.ts'
import type { UpdateProgress } from '../../knowledge/index/update.ts'
import { readParsed } from '../../knowledge/index/write-files.ts'
import { OverlapPredictor } from '../../knowledge/overlap.ts'
import { findSecretPart } from '../../policy/paths/secret-files.ts'
import { git } from '../../workspace/git/git.ts'
import { findGitFolder, mainCheckouts } from '../../workspace/git/git-folder.ts'
import type {
  CodeAnswer,
  ComparedTasks,
  FileNeighbours,
  IndexCall,
  IndexCounts,
  IndexReply,
  IndexRequest,
  UpdateOptions,
} from './code-search.ts'
import { hideInContext, hideInRelated, hideInResults } from './hide-paths.ts'
import { ProjectEmbedding } from './project-embedding.ts'

// The process that holds the indexes of projects for the daemon (`startCodeSearch` in code-search.ts): what it reads, parses and keeps in
// memory is not the daemon's, and a database that is written does not delay anybody's verdict. It ends when it is idle, and with the daemon.

/** Agents and the daemon come first: with this, the process gets a third of what they get while all of them are busy. */
const NICENESS = 5
/** Longer than the pauses of an agent that searches. */
const IDLE_MS = 60_000
const [, , data = ''] = process.argv

interface OpenProject {
  root: string
  isInGit: boolean
  /** Opened on use. */
  readonly index: CodeIndex
  progress: UpdateProgress | undefined
  predictor: OverlapPredictor
  embedding: ProjectEmbedding
}

const parser = openParser()
const projects = new Map<string, Promise<OpenProject>>()
const calls = new Map<number, AbortController>()
let busy = 0
let idle: NodeJS.Timeout | undefined

setPriority(NICENESS)
process.on('message', (request: IndexRequest) => {
  if ('calledOff' in request) calls.get(request.id)?.abort()
  else void whileBusy(() => answer(request))
})
process.on('disconnect', () => process.exit(0))

async function whileBusy<T>(work: () => Promise<T>): Promise<T> {
  busy += 1
  clearTimeout(idle)
  try {
    return await work()
  } finally {
    busy -= 1
    if (busy === 0) idle = setTimeout(() => process.exit(0), IDLE_MS)
  }
}

async function answer({ id, call }: Extract<IndexRequest, { call: IndexCall }>): Promise<void> {
  const called = new AbortController()
  calls.set(id, called)
  try {
    reply({ id, value: await serve(call, called.signal) })
  } catch (error) {
    reply({ id, problem: called.signal.aborted ? 'it was called off' : messageOf(error) })
  } finally {
    calls.delete(id)
  }
}

function reply(message: IndexReply): void {
  if (process.connected) process.send?.(message, () => undefined)
}

async function serve(call: IndexCall, signal: AbortSignal): Promise<unknown> {
  const project = await openProject(call.project)
  if ('embedding' in call) project.embedding.use(call.embedding)
  switch (call.does) {
    case 'update':
      // Nobody knows where a folder outside of git ends.
      return call.onlyInGit && !project.isInGit ? undefined : update(call, project, signal)
    case 'progress':
      return project.progress
    case 'search':
      // The first search of a project shows how far its index is.
      if (project.index.stamp().commit === undefined) void whileBusy(() => update({}, project).catch(() => undefined))
      return search(call, project, signal)
    case 'related':
      return ask(project.index, file => withoutSecrets(related(file, call.entity, call.depth), hideInRelated), signal)
    case 'file-context':
      return ask(project.index, file => withoutSecrets(fileContext(file, call.path), hideInContext), signal)
    case 'overlap':
      return compareTasks(call, project, signal)
    case 'embed':
      return project.embedding.embedTexts(call, signal)
  }
}

/** A run waits for this: an index that is behind says enough, and one that is not there yet says nothing. */
async function compareTasks({ task, others }: ComparedTasks, { index, predictor }: OpenProject, signal: AbortSignal) {
  if (index.stamp().commit === undefined) return []
  return (await index.ask(file => predictor.predict(file, task, others), { freshMs: 0, signal })).answer
}

async function update(call: UpdateOptions, project: OpenProject, signal?: AbortSignal) {
  const { index } = project
  const watch = (progress: UpdateProgress) => {
    project.progress = progress
  }
  try {
    const result = await (call.rebuild ? index.rebuild(signal, watch) : index.update(signal, watch))
    const embedded = whileBusy(() => project.embedding.embed(index))
    if (!call.counted) return result
    await Promise.race([embedded, sleep(EMBED_LOOK_MS, undefined, { signal }).catch(() => undefined)])
    const note = explainOnce(project.embedding.problem, index)
    return { ...result, counts: (await index.ask(countAll, { freshMs: 0 })).answer, note }
  } finally {
    project.progress = undefined
  }
}

/** The summary of an index waits so long to say whether the code can be embedded. */
const EMBED_LOOK_MS = 1000

/** Why words alone decide, if that is known and was not said since embeddings were last used. */
function explainOnce(problem: string | undefined, index: CodeIndex): string | undefined {
  if (problem === undefined || !index.sayOnce('words_alone', true)) return undefined
  return `Searches go by words alone, which is fine; to search by meaning too, start Ollama or set knowledge.embedding_provider (${problem}).`
}

function countAll(file: IndexFile): IndexCounts {
  const vectors = file.row<{ n: number }>('select count(*) as n from chunk_vectors where vector_id > 0')?.n ?? 0
  const counts = { modules: 0, functions: 0, chunks: 0, embedded: vectors }
  for (const { id } of file.rows<{ id: number }>('select id from syntax')) {
    const { definitions = [], chunks = [] } = readParsed(file, id) ?? {}
    counts.modules += definitions.length > 0 ? 1 : 0
    counts.functions += definitions.filter(({ kind }) => kind === 'function' || kind === 'method').length
    counts.chunks += chunks.length
  }
  return counts
}

async function search(
  call: Extract<IndexCall, { does: 'search' }>,
  { index, embedding }: OpenProject,
  signal: AbortSignal,
): Promise<CodeAnswer> {
  const { query, top = 5, path = '', symbol = false, freshMs = FRESH_MS, neighbours } = call
  const { embedder } = embedding
  const found = await index.search(query, { path, symbol, freshMs, embedder, top: top + MOST_SECRET, signal })
  const results = hideInResults(found.results, isNoSecret).slice(0, top)
  const { stamp } = found
  const note = call.explained ? explainOnce(embedding.explain(found.wordsAlone), index) : undefined
  if (found.wordsAlone === undefined && !symbol) index.sayOnce('words_alone', false)
  void whileBusy(async () => {
    if (stamp.isStale) await index.update()
    await embedding.embedAgain(index)
  }).catch(() => undefined)
  if (!neighbours) return { results, stamp, note }
  const findAll = (file: IndexFile) => {
    const graph = new CodeGraph(file)
    return results.map(({ file_path }) => neighboursOf(file_path, graph, file))
  }
  const { answer } = await index.ask(findAll, { freshMs: 0 })
  return { results: results.map((result, at) => ({ ...result, neighbours: answer[at] })), stamp, note }
}

const FRESH_MS = 400
/** More files with secrets do not match one query. */
const MOST_SECRET = 10
const MOST_NEIGHBOURS = 4

function neighboursOf(path: string, graph: CodeGraph, file: IndexFile): FileNeighbours {
  const few = (paths: readonly string[]) => [...new Set(paths)].filter(isNoSecret).slice(0, MOST_NEIGHBOURS)
  return {
    uses: few(graph.imports(path).flatMap(({ paths }) => paths)),
    used_by: few(graph.importers(path)),
    changed_with: few(changedWith(file, path, MOST_NEIGHBOURS).map(each => each.path)),
  }
}

async function ask<T>(index: CodeIndex, question: (file: IndexFile) => T, signal: AbortSignal) {
  const found = await index.ask(question, { freshMs: FRESH_MS, signal })
  if (found.stamp.isStale) finishUpdate(index)
  return found
}

/** The process stays until the update that an answer did not wait for is complete. */
function finishUpdate(index: CodeIndex): void {
  void whileBusy(() => index.update().catch(() => undefined))
}

/** Files with secrets may be tracked by git; nobody is shown that the index has them. */
function withoutSecrets<T>(
  found: T | undefined,
  hide: (found: T, isShown: (path: string) => boolean) => T | undefined,
): T | undefined {
  return found === undefined ? undefined : hide(found, isNoSecret)
}

function isNoSecret(path: string): boolean {
  return findSecretPart(`/${path}`) === undefined
}

function openProject(directory: string): Promise<OpenProject> {
  const known = projects.get(directory)
  if (known) return known
  const opened = findRoot(directory).then(({ root, isInGit }) => {
    if (root !== directory) return openProject(root)
    let index: CodeIndex | undefined
    const open = () =>
      openIndex({
        projectRoot: root,
        data,
        git: (args, options) => git(root, args, options),
        parse: parser.parse,
        isHidden: path => !isNoSecret(path),
      })
    return {
      ...{
        root,
        isInGit,
        progress: undefined,
        predictor: new OverlapPredictor(),
        embedding: new ProjectEmbedding(root),
      },
      get index() {
        index ??= open()
        return index
      },
    }
  })
  projects.set(directory, opened)
  opened.catch(() => projects.delete(directory)) // it may exist the next time
  return opened
}

/** All worktrees of a project share the index of its main checkout. */
async function findRoot(directory: string): Promise<{ root: string; isInGit: boolean }> {
  const real = await realpath(directory)
  const folder = await findGitFolder(real)
  const [main] = folder && folder.own !== folder.common ? mainCheckouts(folder) : []
  const isInGit = folder !== undefined
  if (main === undefined || !folder) return { root: real, isInGit }
  return { root: await realpath(join(main, relative(await realpath(folder.top), real))), isInGit }
}
