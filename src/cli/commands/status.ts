import type { Command } from 'commander'
import type { SessionView } from '../../domain/api.ts'
import type { StoredEvent } from '../../domain/event.ts'
import type { GetJson, ListOutput } from './list.ts'

export interface StatusOptions {
  ref: string
  showHistory?: boolean | undefined
  showDecisions?: boolean | undefined
  json?: boolean | undefined
}

/** Shows a session, or a run, for `pcc status`. */
export async function showStatus(options: StatusOptions, { get, terminal, out }: ListOutput): Promise<void> {
  if (/^r-[0-9a-f]{1,6}$/i.test(options.ref) && (await showRun(options, { get, terminal, out }))) return
  const path = await (await import('../connection/connection.ts')).sessionPath(options.ref)
  const reply = get(path) as Promise<SessionView>
  const [session, page] = await Promise.all([reply, options.json || import('../render/session-page.ts')])
  const history = options.showHistory ? await fetchEvents(get, `${path}/events?tail=${HISTORY_LENGTH}`) : undefined
  const decisions = options.showDecisions ? await fetchEvents(get, `${path}/events?kinds=${DECISION_KINDS}`) : undefined
  if (page === true) {
    const extra = { ...(history && { history }), ...(decisions && { decisions }) }
    return out(JSON.stringify({ ...session, ...extra }, null, 2))
  }
  const pageOptions = { terminal, now: Date.now(), cwd: process.cwd(), home: process.env['HOME'] }
  for (const line of page.sessionPage(session, pageOptions)) out(line)
  if (!history && !decisions) return
  const { decisionLines, eventLines } = await import('../render/event-lines.ts')
  for (const [title, events, draw] of [
    ['Decisions:', decisions, decisionLines],
    ['History:', history, eventLines],
  ] as const) {
    if (!events) continue
    const lines = events.flatMap(draw({ terminal, project: session.project, verbose: false, reasonElsewhere: true }))
    for (const line of ['', terminal.paint('bold', title), ...(lines.length ? lines : ['none yet'])]) out(line)
  }
}

/** Returns false when no run has that id: a session may have it as its name. */
async function showRun({ ref, json }: StatusOptions, { get, terminal, out }: ListOutput): Promise<boolean> {
  const { findRun } = await import('../connection/connection.ts')
  const run = await findRun(ref, { request: <T>(_: string, path: string) => get(path) as Promise<T> })
  if (!run) return false
  const { runPage } = await import('./run/lines.ts')
  const pageOptions = { terminal, now: Date.now(), cwd: process.cwd(), home: process.env['HOME'] }
  for (const line of json ? [JSON.stringify(run, null, 2)] : runPage(run, pageOptions)) out(line)
  return true
}

const HISTORY_LENGTH = 40
const DECISION_KINDS = 'permission.decided,question.answered'

async function fetchEvents(get: GetJson, path: string): Promise<StoredEvent[]> {
  return ((await get(path)) as { events: StoredEvent[] }).events
}

/** `pcc status` when a flag is invalid or the daemon must be started first. */
export function addStatusCommand(program: Command): void {
  program
    .command('status')
    .description('Show one session in detail.')
    .argument('<session>', 'id, unique beginning of an id, or name; also of a run or a task')
    .option('--show-history', 'also the latest events')
    .option('--show-decisions', 'also what was allowed, refused and answered')
    .option('--json', 'print JSON')
    .action(async (ref: string, options: { showHistory?: true; showDecisions?: true }, command: Command) => {
      const [{ openClient }, { contextOf }] = await Promise.all([
        import('../connection/client.ts'),
        import('../context.ts'),
      ])
      const { terminal, out, json, ...context } = await contextOf(command)
      const client = await openClient(context.paths, context)
      await showStatus({ ...options, ref, json }, { get: path => client.request('GET', path), terminal, out })
    })
}
