import type { Command } from 'commander'
import type { SessionView } from '../../domain/api.ts'
import type { ObservedView } from '../../domain/hook-capture.ts'
import { type Client, openClient } from '../connection/client.ts'
import { type CommandContext, commandContext } from '../context.ts'

export interface SessionListOptions {
  status?: string | undefined
  project?: string | undefined
  all?: boolean | undefined
  limit?: string | undefined
}

/** The number of sessions that are shown without `--limit`: after a year there are thousands. */
const LATEST = 1_000

/** The body of `pcc list`. */
export async function showList(
  options: SessionListOptions,
  { json, terminal, out }: CommandContext,
  client: Client,
): Promise<void> {
  if (options.status) await checkStatuses(options.status)
  const limit = Number(options.limit ?? LATEST)
  if (!Number.isInteger(limit) || limit < 1) await refuse(`--limit takes a number above zero, not "${options.limit}"`)
  const onlyOpen = !json && !options.all && !options.status
  const query = [
    ...(options.status ? [`status=${encodeURIComponent(options.status)}`] : []),
    ...(options.project ? [`project=${encodeURIComponent(resolvePath(options.project))}`] : []),
    onlyOpen ? 'open=true' : `limit=${limit}`,
  ].join('&')
  // The request goes out first; the table is loaded while the daemon answers.
  const reply = client.request<SessionList>('GET', `/sessions?${query}`)
  const [{ sessions, total = sessions.length, observed = [], decisions }, table] = await Promise.all([
    reply,
    json || import('../render/list-table.ts'),
  ])
  if (table === true) return out(JSON.stringify({ sessions, total, observed }, null, 2))
  const shown = onlyOpen ? sessions.filter(({ status }) => IS_OPEN[status]) : sessions
  if (total === 0 && observed.length === 0) out(emptyList(options))
  else if (shown.length > 0) for (const line of table.listTable(shown, terminal, Date.now())) out(line)
  const more = total - shown.length
  if (more > 0 && !onlyOpen) out(`${more} more: add --limit ${total}`)
  else if (more > 0) out(`${shown.length === 0 ? 'No session is open. ' : ''}${more} ended: pcc list --all`)
  if (!options.status) for (const line of table.observedLines(observed, Date.now())) out(line)
  if (decisions) out(table.thingsWait(decisions))
}

interface SessionList {
  sessions: SessionView[]
  /** How many there are, shown or not. */
  total?: number
  observed?: ObservedView[]
  decisions?: number
}

/** Whether a session of this status goes on, or waits for something that lets it go on. */
const IS_OPEN: Record<SessionView['status'], boolean> = {
  ...{ idle: true, processing: true, waiting_input: true, rate_limited: true, paused: true },
  ...{ stopped: false, completed: false, error: false },
}
const STATUSES = ['running', ...Object.keys(IS_OPEN)]

/** `pcc list` for commander, which prints the help and refuses wrong flags. */
export function addListCommand(program: Command): void {
  program
    .command('list')
    .description('List the open sessions, or all of them')
    .option('--status <status>', `only these, comma-separated: ${STATUSES.join(', ')}`)
    .option('--project <path>', 'only sessions of this project')
    .option('--all', 'also those that have ended')
    .option('--limit <n>', `show at most n sessions, the newest (default: ${LATEST})`)
    .option('--json', 'print JSON, also of sessions that have ended')
    .action(async (options: SessionListOptions, command: Command) => {
      const context = await commandContext(command)
      await showList(options, context, await openClient(context.paths, context))
    })
}

async function checkStatuses(statuses: string): Promise<void> {
  const unknown = statuses.split(',').find(name => !STATUSES.includes(name.trim()))
  if (unknown !== undefined) await refuse(`there is no status "${unknown}": ${STATUSES.join(', ')}`)
}

async function refuse(problem: string): Promise<never> {
  const { AppError } = await import('../../base/errors.ts')
  throw new AppError('usage', { problem, command: 'list' })
}

function emptyList({ status, project }: SessionListOptions): string {
  return status || project
    ? 'No session matches. See all of them with: pcc list --all'
    : 'No sessions yet. Start one with: pcc start . --task "…"'
}

function resolvePath(path: string): string {
  return process.getBuiltinModule('node:path').resolve(path)
}
