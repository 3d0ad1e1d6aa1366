import { setImmediate as nextTick } from 'node:timers/promises'
import { lowerFirst, quoteForShell } from '../../base/words.ts'
import { brokenCheckKey, type Escalation, mayBeAllowedOnce, uncheckedKey } from '../../domain/escalation.ts'
import { type AccountGate, faultOf } from '../../domain/limit.ts'
import { WAITS_FOR_ACCOUNT } from '../../domain/merge.ts'
import { type Need, type NeedKind, type Needs, NOTHING_MORE, orderNeeds } from '../../domain/needs.ts'
import { QuestionItem } from '../../domain/session.ts'
import { isPausedByPerson } from '../../domain/session-end.ts'
import type { Task } from '../../domain/task.ts'
import type { Store } from '../../store/store.ts'
import type { RunRow, SessionRow } from '../../store/tables.ts'
import { ACCEPTANCE_TOOL } from '../completion/moves.ts'
import { targetName } from '../runs/next-step.ts'
import { causeOf, findObstacles } from '../runs/obstacles.ts'
import { findDoneAgain } from '../session/allow-once.ts'
import { DISK_KEY, firstLine, listGivenUpRuns, listTroubles, noteLostWorktrees } from './troubles.ts'

export interface NeedsDeps {
  store: Store
  now?: (() => number) | undefined
  /** Why settings and gates of a project are not in force, if a person has not agreed to them. */
  untrusted?: ((project: string) => Promise<string | undefined>) | undefined
}

/** The rows that several sources need, read once. */
interface Facts extends NeedsDeps {
  /** Every open decision. A session that waits for one of them has no row of its own, so none may be left out here only because it is not shown. */
  open: Escalation[]
  denied: Escalation[]
  /** Tasks by id: those of the escalations and of the sessions. A task that was deleted is not among them. */
  tasks: ReadonlyMap<string, Task>
  /** Sessions without a process that do not go on by themselves. */
  standing: SessionRow[]
  openRuns: RunRow[]
  /** The gates of accounts that a person has to mend. */
  faults: AccountGate[]
}

/** A source lists one sort of things. To add a kind: its name in `NEED_KINDS`, and a source here or a row of an existing one. */
type Source = (facts: Facts) => Promise<Need[]> | Need[]
const SOURCES: readonly Source[] = [
  ...[listDecisions, listUnchecked, listRefusals, listHeldUpMerges, listAccounts, listUntrusted],
  ...[listSessions, listPausedRuns, listObstacles, listFeatures, listStrandingTasks, listOutages],
]

/** Everything that waits for a person: every list, count, report and notification is made from this. */
export async function listNeeds(deps: NeedsDeps, filter: { project?: string | undefined } = {}): Promise<Needs> {
  const facts = await readFacts(deps)
  const rows: Need[] = []
  for (const source of SOURCES) rows.push(...(await source(facts)))
  await noteLostWorktrees(rows, facts)
  const isWanted = ({ project }: Need) => filter.project === undefined || project === null || project === filter.project
  const refused = facts.denied.filter(row => !standsFor(row, facts)).map(row => toRefusal(row, facts))
  return { needs: orderNeeds(rows.filter(isWanted)), refused: orderNeeds(refused.filter(isWanted)) }
}

async function readFacts(deps: NeedsDeps): Promise<Facts> {
  const { store } = deps
  const rows = await store.escalations.list({ states: ['open', 'denied'] })
  const standing = await store.sessions.standing()
  const ids = [...rows, ...standing].flatMap(({ task_id }) => task_id ?? [])
  const tasks = new Map((await store.tasks.of([...new Set(ids)])).map(task => [task.id, task]))
  const open = rows.filter(row => row.state === 'open' && !isOfOverTask(row, tasks))
  // Nobody needs what a deleted task wanted. Rows from before tasks were named stay until they are answered.
  const refused = rows.filter(({ state, task_id }) => state === 'denied' && (task_id === null || tasks.has(task_id)))
  const again = await findDoneAgain(refused, tasks, store)
  const denied = refused.filter(row => !isOfOverTask(row, tasks) || again.has(row.number))
  const openRuns = await store.runs.list({ open: true })
  const faults = (await store.gates.list()).filter(gate => faultOf(gate) !== undefined)
  return { ...deps, open, denied, tasks, standing, openRuns, faults }
}

/** Whether the task is over, so that nobody needs the answer. */
function isOfOverTask({ task_id }: Escalation, tasks: Facts['tasks']): boolean {
  const task = task_id === null ? undefined : tasks.get(task_id)
  return task?.state === 'done' || task?.state === 'cancelled'
}

function listDecisions({ open, tasks }: Facts): Need[] {
  const decisions = open.filter(row => uncheckedKey(row) === undefined)
  return decisions.map(row => {
    const kind = kindOf(row)
    return {
      ...aboutRow(row, tasks),
      key: brokenCheckKey(row) ?? `decision:${row.number}`,
      kind,
      text: kind === 'budget' ? row.target : describe(row),
      next: answerTo(row, kind),
    }
  })
}

/** Finished work that waits only for the checks of its project is one row for each project; each task can still be reviewed. */
function listUnchecked({ open, tasks }: Facts): Need[] {
  return [...groupUnchecked(open)].flatMap(([key, rows]): Need[] => {
    const [first] = rows
    if (!first) return []
    const own = rows.length === 1 ? aboutRow(first, tasks) : { ...NOTHING_MORE, project: first.project }
    const reviews = rows.slice(0, MOST_NAMED).map(row => answerTo(row, 'review'))
    const more = rows.length > MOST_NAMED ? ` and ${rows.length - MOST_NAMED} more` : ''
    const what = rows.length === 1 ? first.target : `${rows.length} finished tasks`
    return [
      {
        ...own,
        ...{ key, kind: 'review', number: null, count: rows.length, next: fixFor(rows) },
        ...{
          since: Math.min(...rows.map(row => row.created_at)),
          priority: Math.max(...rows.map(row => row.priority)),
        },
        text: `${what}: ${causeIn(first)}. To look at it and accept or return it as it is: ${reviews.join(', ')}${more}`,
      },
    ]
  })
}

function causeIn({ input: { untilAllowed } }: Escalation): string {
  if (typeof untilAllowed !== 'string') return 'nothing has checked the work'
  return `${lowerFirst(untilAllowed)}. Let a task mend that, or let such failures pass`
}

/** The reviews, or tasks, that one row names. */
const MOST_NAMED = 5

function groupUnchecked(open: readonly Escalation[]): Map<string, Escalation[]> {
  const rows = open.filter(row => uncheckedKey(row) !== undefined)
  return Map.groupBy(rows, row => uncheckedKey(row) ?? '')
}

/** What the newest row says: the project may have changed since the others. */
function fixFor(rows: readonly Escalation[]): string {
  const newest = rows.reduce((a, b) => (b.number > a.number ? b : a))
  return String(newest.input['fix'])
}

function kindOf({ kind, input }: Escalation): NeedKind {
  if (kind !== 'error') return kind
  const { about, guard } = input
  if (about === 'gate' || about === 'merge') return about
  return guard === 'budget' ? 'budget' : 'error'
}

function describe({ kind, tool, target, reason, input }: Escalation): string {
  if (tool === ACCEPTANCE_TOOL) return `${target}: ${reason}`
  if (kind === 'review') return `${target}: may it be merged?`
  if (kind === 'error') return tool === 'session' ? reason : `${target}: ${reason}`
  const questions = QuestionItem.array().safeParse(input['questions'])
  return questions.success ? questions.data.map(({ question }) => question).join(' ') : `${tool} ${target}`
}

function answerTo({ number, input }: Escalation, kind: NeedKind): string {
  if (kind === 'review') return `pcc review ${input['task']}`
  if (kind === 'budget' && typeof input['next'] === 'string') return input['next'].replace(/^Raise it with: /, '')
  return kind === 'permission' || kind === 'question'
    ? `pcc respond ${number} --interactive`
    : `pcc respond ${number} --approve`
}

/** What a row of the store says about an escalation. */
function aboutRow(row: Escalation, tasks: Facts['tasks']): Omit<Need, 'key' | 'kind' | 'text' | 'next'> {
  const { number, project, session_id, task_id, priority, risk, count, created_at: since } = row
  const title = (task_id === null ? undefined : tasks.get(task_id)?.title) ?? null
  const isRequest = row.kind === 'permission'
  return { number, project, session_id, task_id, title, priority, count, since, risk: isRequest ? risk : null }
}

/** A task that could not be done without what was refused. */
function listRefusals(facts: Facts): Need[] {
  return facts.denied.filter(row => standsFor(row, facts)).map(row => toRefusal(row, facts))
}

/** Whether the task of a refused request stands still until a person answers. */
function standsFor({ kind, task_id }: Escalation, { tasks, standing }: Facts): boolean {
  const task = task_id === null ? undefined : tasks.get(task_id)
  if (kind !== 'permission' || task?.state !== 'waiting') return false
  return standing.some(({ id, ended_as }) => id === task.session_id && ended_as === 'paused')
}

function toRefusal(row: Escalation, { tasks }: Facts): Need {
  const next = `pcc respond ${row.number} --approve${mayBeAllowedOnce(row) ? ' --again' : ''}`
  const text = row.kind === 'permission' ? `${row.tool} ${row.target}` : describe(row)
  return { ...aboutRow(row, tasks), key: `refused:${row.number}`, kind: 'refused', text, next }
}

/** Merges that wait for the same thing are one row. */
async function listHeldUpMerges({ store }: Facts): Promise<Need[]> {
  const waiting = await store.merges.list({ states: ['waiting'] })
  const held = waiting.filter(({ reason }) => reason !== WAITS_FOR_ACCOUNT)
  const tasks = new Map((await store.tasks.of(held.map(({ task_id }) => task_id))).map(task => [task.id, task]))
  return held.map(({ task_id, project, repository, target, reason, updated_at }) => ({
    ...NOTHING_MORE,
    ...{ key: `merge:${repository}:${target}:${reason}`, kind: 'merge', project, task_id, since: updated_at },
    title: tasks.get(task_id)?.title ?? null,
    text: `The merge into ${target} waits: ${firstLine(reason ?? 'something is in its way')}`,
    next: 'Mend that; the merge goes on by itself then.',
  }))
}

/** Accounts that a person has to mend, as long as a session uses them or waits for them: a try that has not succeeded mends nothing. */
async function listAccounts(facts: Facts): Promise<Need[]> {
  const { store, faults, openRuns, now = Date.now } = facts
  if (faults.length === 0) return []
  const standing: SessionRow[] = []
  for (const row of facts.standing)
    if (!isPausedByPerson(row.status_reason) && (await hasWork(row, facts))) standing.push(row)
  const live = await store.sessions.list({ only: 'live' })
  const sessions = [...standing, ...(await store.sessions.waiting()), ...live]
  const ofRuns = await listAccountsOfRuns(facts)
  const labels = new Map((await store.quota.accounts()).map(({ account, label }) => [account, label]))
  return faults.flatMap((gate): Need[] => {
    const waiting = sessions.filter(({ account }) => account === gate.account)
    const isClosed = ofRuns.has(gate.account) && (gate.closed_until ?? 0) > now()
    if (waiting.length === 0 && !isClosed) return []
    const [cause = '', ...remedy] = (gate.reason ?? '').split('\n')
    return [
      {
        ...NOTHING_MORE,
        ...{ key: `account:${gate.account}`, kind: faultOf(gate) ?? 'login', since: gate.closed_at ?? now() },
        text: `${labels.get(gate.account) ?? 'An account'} cannot be used: ${cause}`,
        next:
          forThoseThatWait(remedy.join(' '), [
            ...waiting.map(({ id, options }) => options.run?.id ?? id),
            ...openRuns.map(({ id }) => id),
          ]) || 'pcc doctor',
        count: Math.max(1, waiting.length),
      },
    ]
  })
}

/** The accounts on which open runs go on: those of their last sessions, because a person may have given a run another login. */
async function listAccountsOfRuns({ store, openRuns }: Facts): Promise<Set<string | null>> {
  const accounts = new Set<string | null>()
  for (const { id } of openRuns) {
    const last = (await store.runs.attempts({ run: id })).at(-1)
    const session = last && (await store.sessions.get(last.session_id))
    if (session) accounts.add(session.account)
  }
  return accounts
}

/** The remedy of the session that met the fault, with another one to go on with if that one no longer waits. */
function forThoseThatWait(remedy: string, waiting: readonly string[]): string {
  return remedy.replace(/(?<=pcc resume )[rs]-\w+/, id => (waiting.includes(id) ? id : (waiting[0] ?? id)))
}

/** Projects that a run works on without the settings and gates that nobody has agreed to. */
async function listUntrusted({ untrusted, open, openRuns }: Facts): Promise<Need[]> {
  if (!untrusted) return []
  const runs = openRuns.filter(({ state }) => state === 'running')
  const asked = [...groupUnchecked(open).values()].filter(rows => AGREES.test(fixFor(rows)))
  const agreed = new Set(asked.flatMap(rows => rows.map(({ project }) => project)))
  const needs: Need[] = []
  for (const project of new Set(runs.map(run => run.project))) {
    if (agreed.has(project)) continue
    const why = await untrusted(project).catch(() => undefined)
    const since = Math.min(...runs.filter(run => run.project === project).map(({ created_at }) => created_at))
    const next = `pcc trust ${quoteForShell(project)}`
    if (why !== undefined)
      needs.push({ ...NOTHING_MORE, key: `trust:${project}`, kind: 'trust', project, since, text: why, next })
  }
  return needs
}

/** A command by which a person also agrees to the files of a project: no other row has to ask for that. */
const AGREES = /^pcc trust |--trust$/

/** Sessions that stand still, unless another row already says why. A session that a person has paused is not listed. */
async function listSessions(facts: Facts): Promise<Need[]> {
  const { standing, open, denied, tasks, store, faults } = facts
  const asked = new Set(
    (await store.escalations.sessionsOf(open.map(({ number }) => number))).map(row => row.session_id),
  )
  const mended = new Set(faults.map(({ account }) => account))
  const refused = new Set(denied.filter(row => standsFor(row, facts)).map(({ task_id }) => task_id))
  const needs: Need[] = []
  for (const row of standing) {
    const { id, name, project, task_id, priority, ended_as, status_reason, ended_at, account, created_at } = row
    const task = task_id === null ? undefined : tasks.get(task_id)
    if (asked.has(id) || (task && refused.has(task.id)) || (account !== null && mended.has(account))) continue
    if (isPausedByPerson(row.status_reason) || !(await hasWork(row, facts))) continue
    const isAsking = ended_as === 'waiting_input'
    needs.push({
      ...NOTHING_MORE,
      ...{ key: `session:${id}`, kind: isAsking ? 'question' : 'session', project, session_id: id, task_id, priority },
      ...{ title: task?.title ?? null, since: ended_at ?? created_at },
      text: isAsking
        ? `${id} (${firstLine(name)}) waits for an answer`
        : `${id} (${firstLine(name)}): ${firstLine(status_reason ?? 'paused')}; give it up with: pcc stop ${id}`,
      next: isAsking ? `pcc attach ${id}` : (findCommand(status_reason) ?? `pcc resume ${id}`),
    })
  }
  return needs
}

/** The command that a reason names: on a line of its own, or the yes in one. */
function findCommand(reason: string | null): string | undefined {
  return /^pcc resume .*|(?<=: )pcc respond \d+ --approve --again(?=;|$)/m.exec(reason ?? '')?.[0]
}

/** Whether the session would work on something if it went on. */
async function hasWork({ id, task_id }: SessionRow, { tasks, store }: Facts): Promise<boolean> {
  const task = task_id === null ? undefined : tasks.get(task_id)
  if (!task || (task.state !== 'done' && task.state !== 'cancelled')) return true
  return (await store.tasks.list({ session: id, states: ['blocked', 'ready', 'waiting', 'running'] })).length > 0
}

/** A run that was paused for a reason, such as the end of the daemon. */
function listPausedRuns({ openRuns }: Facts): Need[] {
  const paused = openRuns.filter(({ state, reason }) => state === 'paused' && reason)
  return paused.map(({ id, project, target, reason, created_at }) => ({
    ...NOTHING_MORE,
    ...{ key: `run:${id}`, kind: 'run', project, since: created_at },
    text: `The run of ${targetName(target)} is paused: ${firstLine(reason ?? '')}`,
    next: `pcc resume ${id}`,
  }))
}

/** Features that halted. One whose session a person has stopped does not wait for them, and a decision about its session has a row of its own. */
async function listFeatures({ store, open }: Facts): Promise<Need[]> {
  const halted = (await store.features.list({ open: true })).filter(({ problem }) => problem !== null)
  const needs: Need[] = []
  for (const { id, project, name, session_id, problem, updated_at } of halted) {
    const session = session_id === null ? undefined : await store.sessions.get(session_id)
    if (session?.ended_as === 'stopped' || open.some(row => row.session_id === session_id)) continue
    needs.push({
      ...{ ...NOTHING_MORE, key: `feature:${id}`, kind: 'feature', project, session_id, since: updated_at },
      text: `Feature ${name} stands still. ${firstLine(problem ?? '')}`,
      next: `pcc feature create ${name} --project ${quoteForShell(project)}`,
    })
  }
  return needs
}

/** What keeps tasks of running runs from beginning: one row for each project and cause. */
async function listObstacles({ store, openRuns }: Facts): Promise<Need[]> {
  const needs: Need[] = []
  for (const { id, project, state } of openRuns) {
    const { by, since } = state === 'running' ? await findObstacles(id, store) : { by: [], since: 0 }
    for (const obstacle of by) {
      const key = obstacle.code === 'disk_full' ? DISK_KEY : `held:${project}:${causeOf(obstacle)}`
      const text = `Tasks cannot begin: ${firstLine(obstacle.why)}`
      needs.push({ ...NOTHING_MORE, key, kind: 'run', project, since, text, next: obstacle.next })
    }
  }
  return needs
}

/** What holds up work until it passes or is mended. Accounts with a fault have rows of their own. */
async function listOutages({ store, faults }: Facts): Promise<Need[]> {
  const faulty = new Set(faults.map(({ account }) => account))
  const troubles = await listTroubles(store, ({ account }) => account !== null && faulty.has(account))
  return [...troubles, ...(await listGivenUpRuns(store))]
}

/** Failed and cancelled tasks that others come after: these cannot begin. One row for each. */
async function listStrandingTasks({ store }: Facts): Promise<Need[]> {
  const edges = Map.groupBy(await store.tasks.edges({ states: ['blocked'] }), ({ blocker_id }) => blocker_id)
  const blockers = await store.tasks.of([...edges.keys()])
  await nextTick()
  return blockers.flatMap((blocker): Need[] => {
    const { id, title, project, ended_at, created_at, priority, state } = blocker
    const held = (edges.get(id) ?? []).map(({ task_id }) => task_id)
    if (state !== 'failed' && state !== 'cancelled') return []
    const about = { project, task_id: id, title, priority, since: ended_at ?? created_at }
    return [{ ...NOTHING_MORE, key: `task:${id}`, kind: 'task', ...about, ...wayOn(blocker, held) }]
  })
}

function wayOn({ id, title, state }: Task, held: readonly string[]): Pick<Need, 'text' | 'next'> {
  if (state === 'failed') {
    const others = held.length === 1 ? 'another task' : `${held.length} others`
    const text = `${title}: it failed and holds up ${others}; give it up with: pcc task cancel ${id}`
    return { text, next: `pcc task reset ${id}` }
  }
  const named = held.slice(0, MOST_NAMED).join(' ')
  const others = held.length === 1 ? `${named}, which comes after it,` : `${held.length} tasks that come after it`
  const text = `${title}: it was cancelled, and ${others} cannot begin; cancel ${held.length === 1 ? 'that' : 'them'} too with: pcc task cancel ${named}`
  return { text, next: `pcc task deps rm ${id} ${held[0]}` }
}
