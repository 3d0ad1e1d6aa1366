import { basename } from 'node:path'
import type { FastifyInstance, FastifyReply } from 'fastify'
import * as z from 'zod'
import { AppError } from '../../base/errors.ts'
import { loadConfig } from '../../domain/config/load.ts'
import type { IndexStamp } from '../../knowledge/index/code-index.ts'
import { NOTES_FOLDER, readNotes } from '../../knowledge/read-notes.ts'
import { trustedFile, trustStatus } from '../../policy/trust/trust.ts'
import type { CodeAnswer } from '../../supervisor/knowledge/code-search.ts'
import type { DaemonContext } from '../context.ts'
import { parseRequest } from './errors.ts'
import { realOrGiven } from './tasks.ts'

const project = z.string().min(1)
const count = (most: number) => z.coerce.number().int().min(1).max(most)
const IndexBody = z.strictObject({ project, rebuild: z.boolean().optional() })
const ProjectQuery = z.strictObject({ project })
const SearchQuery = z.strictObject({
  project,
  query: z.string().min(1),
  top: count(100).optional(),
  path: z.string().optional(),
  symbol: z.literal('true').optional(),
})
const GraphQuery = z.strictObject({ project, entity: z.string().min(1), depth: count(4).optional() })

/** How long a person's search waits for an index that is behind the project; longer, and they get the results so far. */
const FRESH_MS = 10_000

/** The index of a project's code: bring it up to date, search it, ask what is connected. */
export function codeRoutes(app: FastifyInstance, daemon: DaemonContext): void {
  const { code } = daemon

  app.post('/code/index', async (request, reply) => {
    const { rebuild = false, ...body } = parseRequest(IndexBody, request.body, 'POST /code/index')
    const where = await indexedProject(body.project, daemon)
    const result = await code.update(where, { rebuild, counted: true, signal: untilClosed(reply) })
    if (!result) throw new AppError('internal', { problem: 'nothing was indexed' })
    const { commit = null, dirtyFiles, files, read, removed, problems, counts, note } = result
    return { project: where, commit, dirty_files: dirtyFiles, files, read, removed, ...counts, problems, note }
  })

  app.get('/code/index', async request => {
    const query = parseRequest(ProjectQuery, request.query, 'GET /code/index')
    return { progress: (await code.progress(await realOrGiven(query.project))) ?? null }
  })

  app.get('/code/search', async request => {
    const { symbol, ...query } = parseRequest(SearchQuery, request.query, 'GET /code/search')
    const where = await indexedProject(query.project, daemon)
    const wanted = { ...query, symbol: symbol !== undefined, freshMs: FRESH_MS, explained: true }
    const { results, stamp, note } = await code.search(where, wanted)
    return { project: where, ...stampView(stamp), results: markNotes(results, where), note }
  })

  app.get('/code/graph', async request => {
    const { entity, depth = 2, ...query } = parseRequest(GraphQuery, request.query, 'GET /code/graph')
    const where = await indexedProject(query.project, daemon)
    const { answer, stamp } = await code.related(where, { entity, depth })
    if (!answer) throw new AppError('code_name_unknown', { name: entity, project: where })
    return { project: where, ...stampView(stamp), ...answer }
  })
}

/** The real path of a project whose code may be indexed. */
async function indexedProject(path: string, { paths, agentEnv: env }: DaemonContext): Promise<string> {
  const where = await realOrGiven(path)
  const trusted = trustedFile(await trustStatus(paths, where))
  const { config } = await loadConfig({ paths, env, project: where, trusted })
  if (!config.knowledge.enabled) throw new AppError('code_search_off', { project: where })
  return where
}

function stampView({ commit, dirtyFiles, isStale }: IndexStamp) {
  return { commit: commit ?? null, dirty_files: dirtyFiles, stale: isStale }
}

/** A note is shown by its title. */
function markNotes(results: CodeAnswer['results'], project: string) {
  const isNote = (path: string) => path.startsWith(`${NOTES_FOLDER}/`)
  const notes = results.some(({ file_path }) => isNote(file_path)) ? readNotes(project).notes : []
  return results.map(result => {
    const { file_path } = result
    const title = isNote(file_path) ? notes.find(({ file }) => file === basename(file_path))?.title : undefined
    return title === undefined ? result : { ...result, note: title }
  })
}

/** Aborts when the client is gone: what is indexed by then stays. */
function untilClosed(reply: FastifyReply): AbortSignal {
  const closed = new AbortController()
  reply.raw.once('close', () => closed.abort())
  return closed.signal
}
