import { setImmediate as nextTick } from 'node:timers/promises'
import { quoteForShell } from '../../base/words.ts'
import { DAY_IS_SPENT } from '../../domain/budget.ts'
import { type Need, NOTHING_MORE } from '../../domain/needs.ts'
import type { FailureKind } from '../../domain/session.ts'
import type { Store } from '../../store/store.ts'
import type { AttemptRow, RunRow, SessionRow } from '../../store/tables.ts'
import { hasWorktree } from '../context.ts'
import { scopeOf, targetName } from '../runs/next-step.ts'

/** What helps against a full disk. The reason of a session that waits for it ends with this line. */
export const DISK_REMEDY = 'It goes on by itself when the disk can be written to.'

/** A full disk is one cause for all sessions and runs. */
export const DISK_KEY = 'disk'

/** How often an agent asks its vendor again before a person hears of it: most outages are shorter. */
const PATIENCE = 3

/**
 * Faults of the surroundings that no account and no merge shows: a vendor that does not answer, a program that is not there, a model
 * that nobody knows, a full disk, the spent budget of a day. The work goes on by itself when they are mended; there is one row for each while they last.
 */
export async function listTroubles(store: Store, isListed: (session: SessionRow) => boolean): Promise<Need[]> {
  const needs: Need[] = []
  const waiting = (await store.sessions.waiting()).filter(row => !isListed(row))
  for (const row of waiting) needs.push(...(await troubleOfWaiting(row, store)))
  for (const row of await store.sessions.list({ only: 'live' })) needs.push(...(await troubleOfLive(row, store)))
  for (const { id, state } of await store.runs.list({ open: true }))
    if (state === 'running') needs.push(...(await troublesOfRun(id, store)))
  return needs
}

/** How many of the last runs are looked at: those of a person's projects of today. */
const LAST_RUNS = 20

/** The last run of a project, if its agent gave all of it up and work is left: nothing goes on before a person acts. */
export async function listGivenUpRuns(store: Store): Promise<Need[]> {
  const seen = new Set<string>()
  const needs: Need[] = []
  for (const run of await store.runs.list({ limit: LAST_RUNS })) {
    const { id, project, target, state, gave_up, ended_at, created_at } = run
    if (seen.has(project)) continue
    seen.add(project)
    if (state !== 'ended' || gave_up === null) continue
    const { ready = 0, blocked = 0 } = await store.tasks.counts(scopeOf(run))
    if (ready + blocked === 0) continue
    const left = ready + blocked === 1 ? '1 task is left' : `${ready + blocked} tasks are left`
    needs.push({
      ...{ ...NOTHING_MORE, key: `gave-up:${id}`, kind: 'run', project, since: ended_at ?? created_at },
      text: `The agent gave up the run of ${targetName(target)}: ${firstLine(gave_up)}; ${left}`,
      next: againCommand(run),
    })
  }
  return needs
}

/**
 * A session whose worktree somebody has deleted cannot go on: that has to be mended before its row can be answered, so until then the row is no
 * decision and has no number.
 */
export async function noteLostWorktrees(
  needs: Need[],
  { standing, store }: { standing: readonly SessionRow[]; store: Store },
): Promise<void> {
  const stood = new Set(standing.map(({ id }) => id))
  // The session of finished work is over: it does not stand.
  const over = needs.flatMap(({ session_id: id }) => (id === null || stood.has(id) ? [] : id))
  const sessions = [...standing, ...(over.length > 0 ? await store.sessions.of([...new Set(over)]) : [])]
  const places = new Map(sessions.map(({ id, options }) => [id, options.place]))
  for (const need of needs) {
    const place = need.session_id === null ? undefined : places.get(need.session_id)
    if (!place || (await hasWorktree(place, store.worktrees))) continue
    const restore = `pcc worktree restore ${place.task}`
    const then = need.text.includes(restore) ? ': ' : ' (its worktree is gone; restore it, then: '
    need.text = `${need.text}${then}${need.next}${then.startsWith(':') ? '' : ')'}`
    need.next = restore
    need.number = null
  }
}

/** The command that works through the same tasks, and no others, once more. */
function againCommand({ project, target }: Pick<RunRow, 'project' | 'target'>): string {
  if (target.kind === 'task') return `pcc run ${target.id}`
  if (target.kind === 'project') return `pcc run ${quoteForShell(project)}`
  return `pcc run ${quoteForShell(target.name)} --project ${quoteForShell(project)}`
}

async function troubleOfWaiting(row: SessionRow, store: Store): Promise<Need[]> {
  const reason = row.status_reason ?? ''
  if (reason.endsWith(DISK_REMEDY)) {
    const about = { key: DISK_KEY, kind: 'session', since: row.ended_at ?? row.created_at } as const
    return [{ ...NOTHING_MORE, ...about, text: `Work waits: ${firstLine(reason)}`, next: 'Free some space.' }]
  }
  if (reason.startsWith(DAY_IS_SPENT)) {
    const about = { key: 'budget:day', kind: 'budget', since: row.ended_at ?? row.created_at } as const
    const text = `${firstLine(reason)}: work waits until it is raised, or until tomorrow`
    return [{ ...NOTHING_MORE, ...about, text, next: /pcc config set [^;]+/.exec(reason)?.[0] ?? 'pcc budget' }]
  }
  const [end] = await store.events({ subject: row.id, kinds: ['session.ended'], tail: 1 })
  const failure = end?.kind === 'session.ended' ? end.body.failure : undefined
  await nextTick()
  if (failure === undefined || end === undefined) return []
  return toTrouble({ row, failure, reason, since: end.time }, store)
}

/** An agent that has asked its vendor several times in vain, and has had no answer since. */
async function troubleOfLive(row: SessionRow, store: Store): Promise<Need[]> {
  const [last] = await store.events({ subject: row.id, tail: 1 })
  if (last?.kind !== 'agent.retried' || last.body.attempt < PATIENCE) return []
  const { failure } = last.body
  return toTrouble({ row, failure: failure.kind, reason: failure.message, since: last.time }, store)
}

/** Tasks of a run that are tried again later, in a fresh session. */
async function troublesOfRun(run: string, store: Store): Promise<Need[]> {
  const attempts = await store.runs.attempts({ run })
  const last = new Map(attempts.map(attempt => [attempt.task_id, attempt]))
  const failed = [...last.values()].filter(({ outcome, failure }) => outcome === 'failed' && failure !== null)
  const needs: Need[] = []
  for (const attempt of failed) {
    if ((await store.tasks.get(attempt.task_id))?.state === 'ready')
      needs.push(...(await troubleOfAttempt(attempt, store)))
  }
  return needs
}

async function troubleOfAttempt(attempt: AttemptRow, store: Store): Promise<Need[]> {
  const { session_id, failure, reason, ended_at, started_at } = attempt
  const row = await store.sessions.get(session_id)
  if (!row || failure === null) return []
  return toTrouble({ row, failure, reason: reason ?? '', since: ended_at ?? started_at }, store)
}

interface Trouble {
  row: SessionRow
  failure: FailureKind
  reason: string
  since: number
}

async function toTrouble({ row, failure, reason, since }: Trouble, store: Store): Promise<Need[]> {
  const about = { ...NOTHING_MORE, since, project: row.project }
  const [cause = '', remedy = ''] = reason.split('\n')
  switch (failure) {
    case 'network':
    case 'server':
    case 'overloaded': {
      const key = `vendor:${row.account ?? row.agent}`
      const text = `The vendor of ${row.agent} does not answer: ${await describeOutage(row, cause, store)}`
      return [{ ...about, project: null, key, kind: 'vendor', text, next: nextFor(failure, row) }]
    }
    case 'agent_missing':
      return [{ ...about, project: null, key: `program:${row.agent}`, kind: 'session', text: cause, next: remedy }]
    case 'model_not_found': {
      const next = 'Name another model: pcc config set agent.model <model>, or pcc task update <task> --model <model>'
      return [{ ...about, key: `model:${cause}`, kind: 'run', text: `Tasks cannot begin: ${cause}`, next }]
    }
    default:
      return []
  }
}

/** The notice of a retry names the address that was asked. */
async function describeOutage({ id }: SessionRow, cause: string, store: Store): Promise<string> {
  const [last] = await store.events({ subject: id, kinds: ['agent.retried'], tail: 1 })
  if (last?.kind === 'agent.retried') return firstLine(last.body.failure.message)
  return cause.replace(/; try \d+ of \d+ follows$/, '')
}

function nextFor(failure: FailureKind, { id, options }: SessionRow): string {
  const again = 'It is tried again by itself.'
  if (failure !== 'network') return `Nothing, unless it lasts. ${again}`
  return `Look at your network. ${again} With another address in your environment: pcc resume ${options.run?.id ?? id}`
}

export function firstLine(text: string): string {
  return text.split('\n', 1).join('').trim()
}
