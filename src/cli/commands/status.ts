import type { Command } from 'commander'
import type { SessionView } from '../../domain/api.ts'
import type { StoredEvent } from '../../domain/event.ts'
import { type Client, openClient } from '../connection/client.ts'
import { findRun, sessionPath } from '../connection/connection.ts'
import { type CommandContext, commandContext } from '../context.ts'

export interface StatusOptions {
  showHistory?: boolean | undefined
  showDecisions?: boolean | undefined
}

/** Shows a session, or a run, for `pcc status`. */
export async function showStatus(
  ref: string,
  { showHistory, showDecisions }: StatusOptions,
  { json, terminal, out, env }: CommandContext,
  client: Client,
): Promise<void> {
  const pageOptions = { terminal, now: Date.now(), cwd: process.cwd(), home: env['HOME'] }
  const run = await findRun(ref, client)
  if (run) {
    const { runPage } = await import('./run/lines.ts')
    for (const line of json ? [JSON.stringify(run, null, 2)] : runPage(run, pageOptions)) out(line)
    return
  }
  const path = await sessionPath(ref)
  const reply = client.request<SessionView>('GET', path)
  const [session, page] = await Promise.all([reply, json || import('../render/session-page.ts')])
  const fetchEvents = async (query: string) =>
    (await client.request<{ events: StoredEvent[] }>('GET', `${path}/events?${query}`)).events
  const history = showHistory ? await fetchEvents(`tail=${HISTORY_LENGTH}`) : undefined
  const decisions = showDecisions ? await fetchEvents(`kinds=${DECISION_KINDS}`) : undefined
  if (page === true) {
    const extra = { ...(history && { history }), ...(decisions && { decisions }) }
    return out(JSON.stringify({ ...session, ...extra }, null, 2))
  }
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

const HISTORY_LENGTH = 40
const DECISION_KINDS = 'permission.decided,question.answered'

/** `pcc status` for commander, which prints the help and refuses wrong flags. */
export function addStatusCommand(program: Command): void {
  program
    .command('status')
    .description('Show one session in detail')
    .argument('<session>', 'id, unique beginning of an id, or name; also of a run or a task')
    .option('--show-history', 'also the latest events')
    .option('--show-decisions', 'also what was allowed, refused and answered')
    .option('--json', 'print JSON')
    .action(async (ref: string, options: StatusOptions, command: Command) => {
      const context = await commandContext(command)
      await showStatus(ref, options, context, await openClient(context.paths, context))
    })
}
