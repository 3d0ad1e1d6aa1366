import type { FastifyInstance } from 'fastify'
import * as z from 'zod'
import { isZone } from '../../base/clock.ts'
import { AcceptFile, CheckSecrets, StopDaemon, UnlockSecrets } from '../../domain/api.ts'
import type { Report } from '../../domain/report.ts'
import { gatherReport } from '../../supervisor/report/gather.ts'
import { parseSince } from '../../tasks/schedules.ts'
import { type DaemonContext, findUntrusted, getTasks } from '../context.ts'
import { parseRequest } from './errors.ts'
import { realOrGiven } from './tasks.ts'

/** The request to stop. */
export function daemonRoutes(app: FastifyInstance, daemon: DaemonContext): void {
  app.post('/daemon/stop', async (request, reply) => {
    const { go_on: goOn } = parseRequest(StopDaemon, request.body ?? {}, 'POST /daemon/stop')
    daemon.stop(goOn ? 'asked to start anew' : 'asked to stop', { goOn })
    return reply.code(202).send({ ok: true })
  })
}

/** What the person's own settings, rules and trust are, by the person's word or by pcc's own commands. */
export function acceptedFileRoutes(app: FastifyInstance, { accepted, log }: DaemonContext): void {
  app.post('/accepted-files', async request => {
    const change = parseRequest(AcceptFile, request.body, 'POST /accepted-files')
    await accepted.accept(change)
    log.info({ file: change.path }, 'new content of a file of the person is accepted')
    return { path: change.path }
  })
}

const ReportQuery = z.strictObject({
  since: z.string().trim().min(1).max(100),
  until: z.string().trim().min(1).max(100).optional(),
  project: z.string().min(1).optional(),
  /** The person's time zone. */
  zone: z.string().refine(isZone, 'it is no time zone of this machine'),
})

/** The report: what happened while nobody watched. */
export function reportRoutes(app: FastifyInstance, daemon: DaemonContext): void {
  app.get('/report', async (request): Promise<Report> => {
    return readReport(parseRequest(ReportQuery, request.query, 'GET /report'), daemon)
  })
}

/** The report of a period. */
export async function readReport(
  { since, until, project, zone }: z.infer<typeof ReportQuery>,
  daemon: DaemonContext,
): Promise<Report> {
  const now = Date.now()
  const end = until === undefined ? now : parseSince(until, zone, now)
  const span = { since: parseSince(since, zone, end), until: end }
  const filter = project === undefined ? {} : { project: await realOrGiven(project) }
  return gatherReport(
    { ...span, ...filter },
    {
      ...{ store: daemon.store, tasks: getTasks(daemon), quota: daemon.quota },
      untrusted: project => findUntrusted(daemon.paths, project),
      memory: daemon.memory.measure,
    },
  )
}

/**
 * What the daemon has to know of secrets. No route returns a value. The guard refuses agents here as on every route that changes
 * something, and `pcc secrets` asks for `/secrets/forget` before it writes: whoever is refused there writes nothing.
 */
export function secretRoutes(app: FastifyInstance, { secrets, log }: DaemonContext): void {
  app.post('/secrets/forget', async () => {
    secrets.forget()
    return { ok: true }
  })

  app.post('/secrets/unlock', async request => {
    const { passphrase } = parseRequest(UnlockSecrets, request.body, 'POST /secrets/unlock')
    await secrets.unlock(passphrase)
    log.info({}, 'the file of secrets is unlocked')
    return { ok: true }
  })

  app.post('/secrets/check', async request => {
    const { names } = parseRequest(CheckSecrets, request.body, 'POST /secrets/check')
    const found = await Promise.all(names.map(name => secrets.lookUp(name)))
    return { secrets: names.map((name, index) => describeSecret(name, found[index])) }
  })
}

function describeSecret(name: string, found: Awaited<ReturnType<DaemonContext['secrets']['lookUp']>> | undefined) {
  const problem = found && 'problem' in found ? found.problem : null
  return { name, in: found && 'in' in found ? found.in : null, problem }
}
