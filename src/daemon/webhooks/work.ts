import { stat } from 'node:fs/promises'
import { DAY_MS } from '../../base/clock.ts'
import { AppError, type ErrorCode, messageOf, PASSING_CODES } from '../../base/errors.ts'
import { Alarm } from '../../base/keyed-worker.ts'
import { isOver, type Task } from '../../domain/task.ts'
import type { WebhookAction, WebhookDelivery } from '../../domain/webhook.ts'
import { taskOfBranch } from '../../domain/worktree.ts'
import type { Tx } from '../../store/store.ts'
import { readBranchTips } from '../../workspace/git/refs.ts'
import { openQueueLimit } from '../api/queue-limit.ts'
import { type DaemonContext, getTasks } from '../context.ts'
import { runActions } from '../routes/runs.ts'
import { realOrGiven } from '../routes/tasks.ts'
import { externalLine } from './external-text.ts'
import { readMessage } from './payloads.ts'
import type { ReadWebhooks } from './settings.ts'

export interface WebhookWorkDeps {
  daemon: DaemonContext
  read(): Promise<ReadWebhooks>
  /** Does what somebody wrote to the bot. */
  chat(update: unknown): Promise<string>
  now?: () => number
}

const AT_ONCE = 20
const FIRST_RETRY_MS = 5_000
const LONGEST_RETRY_MS = 15 * 60_000
/** Several hours. */
const MOST_TRIES = 20
/** What only waits for work that is under way, or for a place in a queue, is looked at every minute, for three days. */
const PATIENT: ReadonlySet<ErrorCode> = new Set(['task_unsettled', 'queue_full'])
const FIRST_PATIENT_MS = 1_000
const LONGEST_PATIENT_MS = 60_000
const MOST_PATIENT_TRIES = 3 * 24 * 60
const PRUNED_EVERY_MS = 3_600_000
/** How many messages that failed, and how many that were refused, keep their text. */
const KEPT_TEXTS = 200

/**
 * Works on the messages that were received, the oldest first. What a message asks for and that it was done are stored together, so
 * a daemon that dies does neither or both, and the next one goes on.
 */
export function openWebhookWork(deps: WebhookWorkDeps): Alarm {
  const { daemon, now = Date.now } = deps
  const { store, log } = daemon
  let prunedAt = 0
  const alarm: Alarm = new Alarm({
    async look() {
      if (now() - prunedAt > PRUNED_EVERY_MS) {
        prunedAt = now()
        const { settings } = await deps.read()
        await store.webhooks.prune(now() - settings.keep_days * DAY_MS, KEPT_TEXTS)
      }
      for (const row of await store.webhooks.due(now(), AT_ONCE)) {
        if (alarm.closed) return undefined
        await workOn(row, deps)
      }
      const next = await store.webhooks.nextAt()
      return next === undefined ? undefined : next - now()
    },
    failed: error => log.error({ error }, 'messages of webhooks could not be worked on'),
  })
  return alarm
}

/** Does what one message asks for. A problem is written to its row. */
export async function workOn(row: WebhookDelivery, deps: WebhookWorkDeps): Promise<void> {
  const { daemon, now = Date.now } = deps
  const { log, store } = daemon
  const tell = { webhook: row.source, id: row.id, event: row.event }
  try {
    if (row.state === 'starting') await startRun(row, deps)
    else await perform(row, deps)
  } catch (error) {
    if (daemon.stopping.aborted || (error instanceof AppError && error.code === 'webhook_taken')) return
    const why = externalLine(messageOf(error), 500)
    const isPatient = error instanceof AppError && PATIENT.has(error.code)
    const isGivenUp = row.tries + 1 >= (isPatient ? MOST_PATIENT_TRIES : MOST_TRIES)
    const state = (isPatient || mayPass(error)) && !isGivenUp ? row.state : 'failed'
    const [firstMs, longestMs] = isPatient ? [FIRST_PATIENT_MS, LONGEST_PATIENT_MS] : [FIRST_RETRY_MS, LONGEST_RETRY_MS]
    const retryMs = Math.min(longestMs, firstMs * 2 ** Math.min(row.tries, 20))
    const outcome = row.state === 'starting' ? `${row.tasks} is there, but its run did not start: ${why}` : why
    const patch = { state, outcome, tries: row.tries + 1, next_at: now() + retryMs, updated_at: now() }
    await store.transaction(tx => store.webhooks.move(row, patch, tx))
    log.warn({ ...tell, why }, state === 'failed' ? 'a message of a webhook failed' : 'it is tried again')
    return
  }
  const done = await store.webhooks.get(row.id)
  log.info({ ...tell, state: done?.state, outcome: done?.outcome }, 'a message of a webhook is worked on')
}

/** Whether it may go well another time. A message that cannot be read, or that the settings do not allow, does not. */
function mayPass(error: unknown): boolean {
  if (error instanceof AppError) return PASSING_CODES.has(error.code) || error.http >= 429
  return !(error instanceof Error && (error.name === 'ZodError' || error.name === 'SyntaxError'))
}

async function perform(row: WebhookDelivery, deps: WebhookWorkDeps): Promise<void> {
  const { daemon } = deps
  const { settings } = await deps.read()
  // Whether it came late was decided when it came, not when there is time for it.
  const actions = readMessage(row, settings, row.received_at)
  const tasks = actions.filter(action => action.do === 'task')
  const [action] = actions
  const notes = actions.flatMap(one => ('why' in one ? [one.why] : []))
  if (tasks.length > 0) return makeTasks(row, { tasks, notes }, deps)
  switch (action?.do) {
    case 'return':
      return returnWork(row, action, deps)
    case 'landed':
      return landWork(row, action, deps)
    case 'chat': {
      // What it does can be done twice without harm; an answer counts once.
      const outcome = await deps.chat(action.update)
      return daemon.store.transaction(tx => close(row, { state: 'done', outcome }, deps, tx))
    }
    case 'refuse':
      return daemon.store.transaction(tx => close(row, { state: 'refused', outcome: action.why }, deps, tx))
    default: {
      const outcome = action?.do === 'nothing' ? action.why : 'it asks for nothing'
      return daemon.store.transaction(tx => close(row, { state: 'ignored', outcome }, deps, tx))
    }
  }
}

type Ending = Partial<Pick<WebhookDelivery, 'state' | 'outcome' | 'tasks'>>

/** Writes what became of a message. Its text stays if it can be tried again. Throws if somebody else has worked on it. */
async function close(row: WebhookDelivery, ending: Ending, { daemon, now = Date.now }: WebhookWorkDeps, tx: Tx) {
  const body = ending.state === 'refused' ? row.body : ''
  const patch = { ...ending, body, updated_at: now(), next_at: now() }
  if (!(await daemon.store.webhooks.move(row, patch, tx))) throw new AppError('webhook_taken', { id: row.id })
}

type TaskAction = Extract<WebhookAction, { do: 'task' }>

/**
 * Makes the tasks of a message one by one, each with the record of it: if there is no place for all, those that are there begin, and
 * the others are made by a later try.
 */
async function makeTasks(
  row: WebhookDelivery,
  { tasks: wanted, notes }: { tasks: TaskAction[]; notes: string[] },
  deps: WebhookWorkDeps,
): Promise<void> {
  const { daemon } = deps
  const { store } = daemon
  const { settings, queueSize } = await deps.read()
  const project = await findProject(wanted[0]?.project ?? '')
  const queue = openQueueLimit(daemon, queueSize)
  let made = row.tasks.split(' ').filter(Boolean)
  let says: string[] = []
  try {
    for (const action of wanted) {
      const after = await queue.add(project, () =>
        store.transaction(async tx => {
          const found = await makeTask(action, project, { daemon, source: row.source }, tx)
          const all = found.isNew ? [...made, found.id] : made
          const outcomes = [...says, all.includes(found.id) ? `made ${found.id}` : found.says]
          const tasks = all.join(' ')
          const state = all.length === 0 ? 'ignored' : settings.start_runs ? 'starting' : 'done'
          if (outcomes.length < wanted.length) await store.webhooks.move(row, { tasks }, tx)
          else await close(row, { state, outcome: summarise([...outcomes, ...notes]), tasks }, deps, tx)
          return { all, outcomes }
        }),
      )
      made = after.all
      says = after.outcomes
    }
  } catch (error) {
    if (settings.start_runs) await startTasks(made, daemon)
    throw error
  }
  const now = await store.webhooks.get(row.id)
  if (now?.state === 'starting') await workOn(now, deps)
}

const MOST_TOLD = 20

function summarise(says: readonly string[]): string {
  const [first, last] = [says.slice(0, MOST_TOLD), says.slice(MOST_TOLD).slice(-MOST_TOLD)]
  const between = says.length - first.length - last.length
  return [...first, ...(between > 0 ? [`${between} more`] : []), ...last].join('; ')
}

/** The real path of a project; it must be a folder. */
async function findProject(path: string): Promise<string> {
  const project = await realOrGiven(path)
  const isFolder = (await stat(project).catch(() => undefined))?.isDirectory() === true
  if (!isFolder) throw new AppError('webhook_project', { project })
  return project
}

interface MadeTask {
  id: string
  isNew: boolean
  says: string
}

/** Of two messages about the same thing only one makes a task. Those that ask again do, once the first task is over. */
async function makeTask(
  { alias, again, title, text, labels }: TaskAction,
  project: string,
  { daemon, source }: { daemon: DaemonContext; source: string },
  tx: Tx,
): Promise<MadeTask> {
  const { store } = daemon
  const ofProject = (tasks: Task[]) => tasks.filter(task => task.project === project)
  const first = ofProject(await store.tasks.named(alias, tx)).at(-1)
  const mayAgain = again !== undefined && first !== undefined && isOver(first.state)
  const known = mayAgain ? ofProject(await store.tasks.named(again, tx)).at(-1) : first
  if (known) return { id: known.id, isNew: false, says: `${known.id} is there for it, and is ${known.state}` }
  const wanted = { session_id: null, project, title, text, labels, alias: mayAgain ? again : alias }
  const { id } = await getTasks(daemon).submit({ ...wanted, actor: `webhook ${source}` }, tx)
  return { id, isNew: true, says: `made ${id}` }
}

async function startRun(row: WebhookDelivery, deps: WebhookWorkDeps): Promise<void> {
  await startTasks(row.tasks.split(' '), deps.daemon)
  await deps.daemon.store.transaction(tx => close(row, { state: 'done' }, deps, tx))
}

/** Starts a run for each task that is ready, unless one is under way that takes it. Throws `task_unsettled` if that one is being stopped. */
async function startTasks(ids: readonly string[], daemon: DaemonContext): Promise<void> {
  const { store, supervisor } = daemon
  for (const id of ids) {
    const task = await store.tasks.get(id)
    if (task?.state !== 'ready') continue
    const target = { kind: 'task' as const, id }
    try {
      await runActions(daemon).start({ project: task.project, target, env: supervisor.apiEnv })
    } catch (error) {
      if (!(error instanceof AppError && error.code === 'run_there')) throw error
      await refuseStopping(String(error.detail['id']), daemon)
    }
  }
}

/** A run that is being stopped begins no more tasks. */
async function refuseStopping(run: string, { store }: Pick<DaemonContext, 'store'>): Promise<void> {
  if ((await store.runs.get(run))?.stopping) throw new AppError('task_unsettled', { what: `${run} is being stopped` })
}

type ReturnAction = Extract<WebhookAction, { do: 'return' }>

/** Sends work back to its conversation, if it is about the commit that pcc made last. */
async function returnWork(row: WebhookDelivery, action: ReturnAction, deps: WebhookWorkDeps): Promise<void> {
  const { daemon } = deps
  const { store, supervisor } = daemon
  const { settings } = await deps.read()
  const found = await findBranchTask(action, daemon)
  const outdated = 'why' in found ? found.why : await findOutdated(found.task, action, daemon)
  const id = 'why' in found ? null : found.task.id
  await store.transaction(async tx => {
    const { reason, report } = action
    const why =
      outdated ?? (await supervisor.completion.returnDone(id ?? '', { reason, report, most: settings.max_returns }, tx))
    const ending: Ending =
      why === undefined ? { state: 'done', outcome: `${id} goes on: ${reason}` } : { state: 'refused', outcome: why }
    await close(row, { ...ending, tasks: id ?? '' }, deps, tx)
  })
  const session = 'why' in found ? null : found.task.session_id
  if (session !== null) supervisor.wakeReturned([session])
}

/** The task of a branch, if its project is the one that the repository stands for. */
async function findBranchTask(
  { branch, project }: { branch: string; project: string },
  { store }: DaemonContext,
): Promise<{ task: Task } | { why: string }> {
  const task = await store.tasks.get(taskOfBranch(branch) ?? '')
  if (!task) return { why: `there is no task for the branch ${branch}` }
  if (task.project !== (await realOrGiven(project))) return { why: `${task.id} belongs to another project` }
  return { task }
}

/** Why what was found is not about the work as it is now: messages come late, in any order, and from forks. */
async function findOutdated(
  { id, session_id }: Task,
  { commit, branch }: ReturnAction,
  { store }: DaemonContext,
): Promise<string | undefined> {
  const place = session_id === null ? undefined : (await store.sessions.get(session_id))?.options.place
  if (!place) return `${id} was not done in a worktree`
  const merge = (await store.merges.list({ task: id })).at(-1)
  const tip = (await readBranchTips(merge?.repository ?? place.top, [branch])).get(branch)
  const isCurrent = commit !== undefined && [tip, merge?.result, merge?.head].includes(commit)
  return isCurrent
    ? undefined
    : `it is about ${commit?.slice(0, 10) ?? 'no commit'}, which is not the newest of ${branch}`
}

type LandedAction = Extract<WebhookAction, { do: 'landed' }>

async function landWork(row: WebhookDelivery, action: LandedAction, deps: WebhookWorkDeps): Promise<void> {
  const { daemon } = deps
  const { store, supervisor } = daemon
  const found = await findBranchTask(action, daemon)
  if ('why' in found) return store.transaction(tx => close(row, { state: 'refused', outcome: found.why }, deps, tx))
  const { id } = found.task
  const { held, cleanUp } = await store.transaction(async tx => {
    const after = await supervisor.completion.landOutside(id, action, tx)
    const merged = `merged as ${action.commit.slice(0, 10)}`
    const says = after.hasParts
      ? `${id} is ${merged}; it has parts, and is done when they are`
      : `${id} is done: ${merged}`
    await close(row, { state: 'done', outcome: says, tasks: id }, deps, tx)
    return after
  })
  await supervisor.runs.taken(held)
  await cleanUp()
}
