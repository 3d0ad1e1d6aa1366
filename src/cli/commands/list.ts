import type { Command } from 'commander'
import type { SessionView } from '../../domain/api.ts'
import type { Terminal } from '../render/text.ts'

/** Fetches JSON from the daemon; errors of the API are thrown. */
export type GetJson = (path: string) => Promise<unknown>

export interface ListOutput {
  get: GetJson
  terminal: Terminal
  out(line: string): void
}

export interface SessionListOptions {
  status?: string | undefined
  project?: string | undefined
  json?: boolean | undefined
}

/** The body of `pcc list`. */
export async function showList(options: SessionListOptions, { get, terminal, out }: ListOutput): Promise<void> {
  if (options.status) await checkStatuses(options.status)
  const query = [
    ...(options.status ? [`status=${encodeURIComponent(options.status)}`] : []),
    ...(options.project ? [`project=${encodeURIComponent(resolvePath(options.project))}`] : []),
  ].join('&')
  // The request goes out first; the table is loaded while the daemon answers.
  const reply = get(`/sessions${query && `?${query}`}`) as Promise<{ sessions: SessionView[]; decisions?: number }>
  const [{ sessions, decisions }, table] = await Promise.all([reply, options.json || import('../render/list-table.ts')])
  if (table === true) return out(JSON.stringify({ sessions }, null, 2))
  if (sessions.length === 0) return out(emptyList(options))
  for (const line of table.listTable(sessions, terminal, Date.now())) out(line)
  if (decisions) out(table.decisionsWait(decisions))
}

/** `pcc list` when the daemon must be started first, or when its flags need explaining. */
export function addListCommand(program: Command): void {
  program
    .command('list')
    .description('List all managed sessions.')
    .option(
      '--status <status>',
      'only these, comma-separated: running, waiting_input, paused, rate_limited, stopped, completed, error',
    )
    .option('--project <path>', 'only sessions of this project')
    .option('--json', 'print JSON')
    .action(async (options: { status?: string; project?: string }, command: Command) => {
      const [{ openClient }, { contextOf }] = await Promise.all([
        import('../connection/client.ts'),
        import('../context.ts'),
      ])
      const { terminal, out, json, ...context } = await contextOf(command)
      const client = await openClient(context.paths, context)
      await showList({ ...options, json }, { get: path => client.request('GET', path), terminal, out })
    })
}

async function checkStatuses(statuses: string): Promise<void> {
  const { STATUS_WORDS } = await import('../render/format.ts')
  const known = ['running', ...Object.keys(STATUS_WORDS)]
  const unknown = statuses.split(',').find(name => !known.includes(name.trim()))
  if (unknown === undefined) return
  const { AppError } = await import('../../base/errors.ts')
  throw new AppError('usage', { problem: `there is no status "${unknown}": ${known.join(', ')}`, command: 'list' })
}

function emptyList({ status, project }: SessionListOptions): string {
  return status || project
    ? 'No session matches. See all of them with: pcc list'
    : 'No sessions yet. Start one with: pcc start . --task "…"'
}

function resolvePath(path: string): string {
  return process.getBuiltinModule('node:path').resolve(path)
}
