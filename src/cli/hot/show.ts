import type { SessionView } from '../../domain/api.ts'
import type { StoredEvent } from '../../domain/event.ts'
import type { Terminal } from '../render/paint.ts'

/** Fetches JSON from the daemon; errors of the API are thrown. */
export type Get = (path: string) => Promise<unknown>

export interface Shown {
  get: Get
  terminal: Terminal
  out(line: string): void
}

export interface ListOptions {
  status?: string | undefined
  project?: string | undefined
  json?: boolean | undefined
}

export interface StatusOptions {
  ref: string
  showHistory?: boolean | undefined
  showDecisions?: boolean | undefined
  json?: boolean | undefined
}

/** The body of `pcc list`. */
export async function showList(options: ListOptions, { get, terminal, out }: Shown): Promise<void> {
  if (options.status) await checkStatuses(options.status)
  const query = [
    ...(options.status ? [`status=${encodeURIComponent(options.status)}`] : []),
    ...(options.project ? [`project=${encodeURIComponent(absolute(options.project))}`] : []),
  ].join('&')
  // Asked first, then loaded while the daemon answers.
  const asked = get(`/sessions${query && `?${query}`}`) as Promise<{ sessions: SessionView[]; decisions?: number }>
  const [{ sessions, decisions }, table] = await Promise.all([asked, options.json || import('../render/list-table.ts')])
  if (table === true) return out(JSON.stringify({ sessions }, null, 2))
  if (sessions.length === 0) return out(emptyList(options))
  for (const line of table.listTable(sessions, terminal, Date.now())) out(line)
  if (decisions) out(table.decisionsWait(decisions))
}

/** The body of `pcc status`. */
export async function showStatus(options: StatusOptions, { get, terminal, out }: Shown): Promise<void> {
  if (/^r-[0-9a-f]{1,6}$/i.test(options.ref) && (await showRun(options, { get, terminal, out }))) return
  const path = await (await import('../connection/session-path.ts')).sessionPath(options.ref)
  const asked = get(path) as Promise<SessionView>
  const [session, page] = await Promise.all([asked, options.json || import('../render/session-page.ts')])
  const history = options.showHistory ? await eventsOf(get, `${path}/events?tail=${HISTORY}`) : undefined
  const decisions = options.showDecisions ? await eventsOf(get, `${path}/events?kinds=${DECISIONS}`) : undefined
  if (page === true) {
    const extra = { ...(history && { history }), ...(decisions && { decisions }) }
    return out(JSON.stringify({ ...session, ...extra }, null, 2))
  }
  const here = { terminal, now: Date.now(), cwd: process.cwd(), home: process.env['HOME'] }
  for (const line of page.sessionPage(session, here)) out(line)
  if (!history && !decisions) return
  const [{ eventLines }, { decisionLines }] = await Promise.all([
    import('../render/lines/event-lines.ts'),
    import('../render/lines/decision-lines.ts'),
  ])
  for (const [title, events, draw] of [
    ['Decisions:', decisions, decisionLines],
    ['History:', history, eventLines],
  ] as const) {
    if (!events) continue
    const lines = events.flatMap(draw({ terminal, project: session.project, verbose: false, reasonElsewhere: true }))
    for (const line of ['', terminal.paint('bold', title), ...(lines.length ? lines : ['none yet'])]) out(line)
  }
}

/** False where no run has that id: somebody may have called a session so. */
async function showRun({ ref, json }: StatusOptions, { get, terminal, out }: Shown): Promise<boolean> {
  const { runNamed } = await import('../run/named-run.ts')
  const run = await runNamed(ref, { request: <T>(_: string, path: string) => get(path) as Promise<T> })
  if (!run) return false
  const { runPage } = await import('../run/page.ts')
  const here = { terminal, now: Date.now(), cwd: process.cwd(), home: process.env['HOME'] }
  for (const line of json ? [JSON.stringify(run, null, 2)] : runPage(run, here)) out(line)
  return true
}

const HISTORY = 40
const DECISIONS = 'permission.decided,question.answered'

async function eventsOf(get: Get, path: string): Promise<StoredEvent[]> {
  return ((await get(path)) as { events: StoredEvent[] }).events
}

async function checkStatuses(given: string): Promise<void> {
  const { STATUS_WORDS } = await import('../render/format.ts')
  const known = ['running', ...Object.keys(STATUS_WORDS)]
  const wrong = given.split(',').find(name => !known.includes(name.trim()))
  if (wrong === undefined) return
  const { AppError } = await import('../../base/errors.ts')
  throw new AppError('usage', { problem: `there is no status "${wrong}": ${known.join(', ')}`, command: 'list' })
}

function emptyList({ status, project }: ListOptions): string {
  return status || project
    ? 'No session matches. See all of them with: pcc list'
    : 'No sessions yet. Start one with: pcc start . --task "…"'
}

function absolute(path: string): string {
  return process.getBuiltinModule('node:path').resolve(path)
}
