import type { EscalationView } from '../../../domain/escalation.ts'
import type { MergeView } from '../../../domain/merge.ts'
import type { TaskView } from '../../../domain/task.ts'
import type { Client } from '../../connection/client.ts'
import type { CommandContext } from '../../context.ts'

export interface TaskListOptions {
  project?: string | undefined
  all?: boolean | undefined
  feature?: string | undefined
  state?: string | undefined
  ready?: boolean | undefined
  label?: string | undefined
  text?: string | undefined
}

/**
 * Shows the tasks for `pcc task list`. JSON is printed as the daemon sent it, because parsing and writing ten thousand tasks
 * would cost more than everything else.
 */
export async function showTasks(
  options: TaskListOptions,
  { json, terminal, out }: CommandContext,
  client: Client,
): Promise<void> {
  if (options.state !== undefined) await checkStates(options.state)
  const path = buildPath(options)
  if (json) return out((await client.fetch(path, piece => process.stdout.write(piece))).toString())
  const reply = client.request<{ tasks: TaskView[] }>('GET', path)
  const [{ tasks }, { taskLines }] = await Promise.all([reply, import('./lines.ts')])
  if (tasks.length === 0) return out(emptyMessage(options))
  for (const line of taskLines(tasks, terminal, await fetchWaits(tasks, client))) out(line)
}

/** Why finished tasks wait for a person; fetched only when some are being verified or merged. */
async function fetchWaits(tasks: readonly TaskView[], client: Client): Promise<Map<string, string>> {
  const landing = tasks.filter(({ state }) => state === 'verifying' || state === 'merging')
  if (landing.length === 0) return new Map()
  const [{ merges }, { escalations }] = await Promise.all([
    client.request<{ merges: MergeView[] }>('GET', '/merges'),
    client.request<{ escalations: EscalationView[] }>('GET', '/escalations?state=open'),
  ])
  const waiting = merges.filter(({ state, reason }) => state === 'waiting' && reason !== null)
  return new Map([
    ...waiting.map(({ task_id, reason }) => [task_id, `its merge waits: ${reason}`] as const),
    ...landing.flatMap(({ id, reason }) => {
      const asked = escalations.find(({ task_id }) => task_id === id)
      return asked ? [[id, reason ?? `waits for you: pcc respond ${asked.number}`] as const] : []
    }),
  ])
}

function buildPath({ project, all, feature, state, ready, label, text }: TaskListOptions): string {
  const { resolve } = process.getBuiltinModule('node:path')
  const query = Object.entries({
    project: all ? undefined : resolve(project ?? '.'),
    feature,
    state,
    ready: ready ? 'true' : undefined,
    label,
    text,
  }).flatMap(([name, value]) => (value === undefined ? [] : [`${name}=${encodeURIComponent(value)}`]))
  return `/tasks${query.length > 0 ? `?${query.join('&')}` : ''}`
}

async function checkStates(states: string): Promise<void> {
  const { STATE_WORDS } = await import('../../../domain/task-requests.ts')
  const unknown = states.split(',').find(word => !(STATE_WORDS as readonly string[]).includes(word.trim()))
  if (unknown === undefined) return
  const { AppError } = await import('../../../base/errors.ts')
  const problem = `there is no state "${unknown.trim()}": ${STATE_WORDS.join(', ')}`
  throw new AppError('usage', { problem, command: 'task list' })
}

function emptyMessage({ feature, state, ready, label, text }: TaskListOptions): string {
  const isFiltered = [feature, state, ready, label, text].some(filter => filter !== undefined)
  return isFiltered
    ? 'No task matches. See all of them with: pcc task list'
    : 'No tasks here yet. Add one with: pcc task add "…" (or see all projects: pcc task list --all)'
}
