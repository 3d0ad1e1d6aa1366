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

/** The body of `pcc status`. */
export async function showStatus(options: StatusOptions, { get, terminal, out }: ListOutput): Promise<void> {
  if (/^r-[0-9a-f]{1,6}$/i.test(options.ref) && (await showRun(options, { get, terminal, out }))) return
  const path = await (await import('../connection/connection.ts')).sessionPath(options.ref)
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
    import('../render/event-lines.ts'),
    import('../render/event-lines.ts'),
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
async function showRun({ ref, json }: StatusOptions, { get, terminal, out }: ListOutput): Promise<boolean> {
  const { findRun } = await import('../connection/connection.ts')
  const run = await findRun(ref, { request: <T>(_: string, path: string) => get(path) as Promise<T> })
  if (!run) return false
  const { runPage } = await import('./run/lines.ts')
  const here = { terminal, now: Date.now(), cwd: process.cwd(), home: process.env['HOME'] }
  for (const line of json ? [JSON.stringify(run, null, 2)] : runPage(run, here)) out(line)
  return true
}

const HISTORY = 40
const DECISIONS = 'permission.decided,question.answered'

async function eventsOf(get: GetJson, path: string): Promise<StoredEvent[]> {
  return ((await get(path)) as { events: StoredEvent[] }).events
}

/** `pcc status` when the daemon must be started first, or when its flags need explaining. */
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
