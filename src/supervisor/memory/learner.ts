import { statSync } from 'node:fs'
import { join } from 'node:path'
import type { AppPaths } from '../../base/app-paths.ts'
import { readTextIfAny, replaceFile } from '../../base/files.ts'
import type { Log } from '../../base/log.ts'
import { isAutomatic } from '../../domain/deciders.ts'
import type { EventKind, EventOf, StoredEvent } from '../../domain/event.ts'
import type { MemoryRecord, RecordOf } from '../../domain/memory.ts'
import { countSessionsUpTo } from '../../store/offline-reads.ts'
import type { Store } from '../../store/store.ts'
import { filesAbout } from './about-files.ts'
import { type CommandLesson, type DeadEnd, findLessons, type KnownFix, readSteps } from './command-lessons.ts'
import { findGateLessons } from './gate-lessons.ts'
import {
  confirmFixes,
  type Learned,
  recordsOfAnswer,
  recordsOfGates,
  recordsOfLesson,
  resultOf,
} from './make-records.ts'
import { RECORDED } from './phases.ts'

export interface LearnerDeps {
  store: Pick<Store, 'events' | 'sessions' | 'escalations' | 'runs' | 'spending'>
  paths: Pick<AppPaths, 'data'>
  log: Log
  write(records: readonly MemoryRecord[]): Promise<void>
  /** The keys of a project, that of its folder last; undefined where memory is switched off. */
  keysOf(project: string): Promise<readonly [string, ...string[]] | undefined>
  /** The fixes of commands that memory has for a project. */
  knownFixes(key: string): readonly KnownFix[]
  /** What memory knows not to work in a project. */
  deadEnds(key: string): readonly DeadEnd[]
  /** What an attempt at a task was shown, or would have been. */
  recallOf(task: string, attempt: number): RecordOf<'recall'> | undefined
}

export interface Learner {
  /** Learns from the events that came since, as far as the time allows. False if there is more to do at once. */
  catchUp(budgetMs?: number): Promise<boolean>
  /** The last event that was learned from. */
  place(): Promise<number>
}

const PAGE = 200
/** How far a page looks back in each session: the failure that a command mends is near. */
const LOOK_BACK = 40
const BUDGET_MS = 50

/**
 * Follows the event table. A page is read, what it teaches is appended to the log, then the place in the table is stored: a crash in between
 * only makes the same records again, and the same record is stored once.
 */
export function openLearner(deps: LearnerDeps): Learner {
  const file = placeFile(deps.paths)
  let running: Promise<boolean> | undefined
  const run = async (budgetMs: number) => {
    const until = performance.now() + budgetMs
    for (let after = await readPlace(file); ; ) {
      const page = await deps.store.events({ after, kinds: RECORDED, limit: PAGE })
      const last = page.at(-1)
      if (!last) return true
      await deps.write(await learnFromPage(page, deps))
      after = last.id
      await replaceFile(file, JSON.stringify({ schema_version: 1, event: after }))
      if (page.length < PAGE) return true
      if (performance.now() >= until) return false
    }
  }
  return {
    place: () => readPlace(file),
    catchUp(budgetMs = BUDGET_MS) {
      running ??= run(budgetMs)
        .catch(error => {
          deps.log.warn({ error }, 'memory could not learn from events; it tries again after the next one')
          return true
        })
        .finally(() => {
          running = undefined
        })
      return running
    },
  }
}

function placeFile({ data }: Pick<AppPaths, 'data'>): string {
  return join(data, 'memory-learned.json')
}

/** How many of the sessions that have ended memory has learned from, without a daemon; undefined if nobody can tell. */
export async function countLearned(paths: Pick<AppPaths, 'data' | 'database'>) {
  return countSessionsUpTo(paths.database, await readPlace(placeFile(paths)), RECORDED)
}

/** Memory that has lost its place begins at the first event that is left. */
async function readPlace(file: string): Promise<number> {
  try {
    const { event } = JSON.parse((await readTextIfAny(file)) ?? '{}') as { event?: unknown }
    return typeof event === 'number' ? event : 0
  } catch {
    return 0 // the disk lost half of it
  }
}

async function learnFromPage(page: readonly StoredEvent[], deps: LearnerDeps): Promise<MemoryRecord[]> {
  const bySession = new Map<string, StoredEvent[]>()
  for (const event of page) {
    const session = await sessionOf(event, deps)
    bySession.set(session, [...(bySession.get(session) ?? []), event])
  }
  const records: MemoryRecord[] = []
  for (const [session, events] of bySession) {
    const about = await learnedIn(session, events, deps)
    if (about) records.push(...(await learnFromSession(events, about, deps)))
  }
  return records
}

/** The session that an event is about. The events of a task of a run are about the task: its attempt says which session worked on it. */
async function sessionOf({ subject, body }: StoredEvent, { store }: LearnerDeps): Promise<string> {
  if (!('task_id' in body) || body.task_id !== subject) return subject
  const attempts = await store.runs.attempts({ task: subject })
  const own = attempts.find(({ number }) => 'attempt' in body && number === body.attempt)
  return own?.session_id ?? subject
}

type Origin = Learned & { path: string }

/** Whose events these are. Nothing is learned from events of other things. */
async function learnedIn(
  session: string,
  [first]: readonly StoredEvent[],
  { store, keysOf }: LearnerDeps,
): Promise<Origin | undefined> {
  const row = await store.sessions.get(session)
  const seen = first?.kind === 'hook.captured' ? first.body : undefined
  const path = row?.project ?? seen?.project
  const keys = path === undefined ? undefined : await keysOf(path)
  if (path === undefined || keys === undefined) return undefined
  const origin = { path, project: keys[0], folder: keys.at(-1) ?? keys[0], session }
  if (row) return { ...origin, task: row.task_id, agent: row.agent, role: null, actor: 'daemon' }
  return { ...origin, task: null, agent: seen?.vendor ?? null, role: seen?.role ?? null, actor: 'daemon' }
}

async function learnFromSession(events: readonly StoredEvent[], about: Origin, deps: LearnerDeps) {
  const { store } = deps
  const first = events[0]?.id ?? 0
  const kinds: EventKind[] = ['tool.finished', 'permission.decided', 'hook.captured', 'task.started']
  const isEnd = events.some(({ kind }) => kind === 'task.finished')
  const tail = isEnd ? LOOK_BACK_AT_GATES : LOOK_BACK
  const before = await store.events({ subject: about.session, kinds, before: first, tail })
  const all = [...before, ...events]
  const isNewEvent = new Set(events.map(({ id }) => `event:${id}`))
  const task = all.findLast(event => event.kind === 'task.started')?.body.task_id ?? about.task
  const here = { ...about, task }
  const steps = readSteps(all)
  const known = steps.length === 0 ? [] : deps.knownFixes(about.project)
  const isJudged = events.some(({ kind }) => kind === 'task.verified' || kind === 'task.failed')
  const deadEnds = steps.length > 0 || isJudged ? deps.deadEnds(about.project) : []
  const lessons = findLessons(steps, { known, deadEnds, isNew: ({ source }) => isNewEvent.has(source) })
  const records = lessons.flatMap(lesson => recordsOfLesson(lesson, here))
  if (isJudged) records.push(...(await learnFromGates(events, here, { store, known: deadEnds })))
  for (const event of events) {
    if (event.kind === 'escalation.answered') {
      const row = await store.escalations.get(event.body.number)
      if (row) records.push(...recordsOfAnswer(event, row, here, text => filesThen(here.path, text, event.time)))
    }
    if (event.kind === 'task.finished' || event.kind === 'task.failed')
      records.push(...(await learnFromEnd(event, here, { ...deps, steps })))
  }
  return records
}

/** How far back the work on one task is looked for. */
const LOOK_BACK_AT_GATES = 400

async function learnFromGates(
  events: readonly StoredEvent[],
  about: Origin,
  { store, known }: Pick<LearnerDeps, 'store'> & { known: readonly DeadEnd[] },
): Promise<MemoryRecord[]> {
  const kinds: EventKind[] = ['tool.finished', 'task.started', 'task.verified']
  const first = events[0]?.id ?? 0
  const before = await store.events({ subject: about.session, kinds, before: first, tail: LOOK_BACK_AT_GATES })
  const isNew = ({ id }: StoredEvent) => id >= first
  return recordsOfGates(findGateLessons([...before, ...events], { isNew, deadEnds: known }), about)
}

/** The files that a text spoke of at a time. What one held that was written since then nobody knows: the fact must be found true again. */
function filesThen(project: string, text: string, time: number): RecordOf<'fact'>['about'] {
  return filesAbout(project, text).about.map(({ path, blob }) => {
    const written = statSync(join(project, path), { throwIfNoEntry: false })?.mtimeMs ?? 0
    return { path, blob: written > time ? '' : blob }
  })
}

type TaskEnd = EventOf<'task.finished'> | EventOf<'task.failed'>

async function learnFromEnd(
  event: TaskEnd,
  about: Origin,
  deps: LearnerDeps & { steps: Parameters<typeof findLessons>[0] },
) {
  const { task_id: task, attempt } = event.body
  // Only tasks that began with a brief can be compared.
  const recall = deps.recallOf(task, attempt)
  const retries = Math.max(0, attempt - 1)
  const work = recall && (await countWork(task, about.session, deps))
  const results = work ? [resultOf(event, about, { arm: recall.arm, retries, ...work })] : []
  const isPassed = event.kind === 'task.finished' && event.body.verification === 'passed'
  if (!isPassed) return results
  const all = findLessons(deps.steps, { known: [], isNew: () => true })
  const fixes = all.filter((lesson): lesson is Extract<CommandLesson, { kind: 'fix' }> => lesson.kind === 'fix')
  return [...results, ...confirmFixes(fixes, { ...about, task }, event)]
}

/** What all attempts at a task took. */
async function countWork(task: string, session: string, { store }: LearnerDeps) {
  const attempts = await store.runs.attempts({ task })
  const [spent] = await store.spending.of([{ scope: 'task', key: task }])
  let [tool_calls, corrections] = [0, 0]
  for (const subject of new Set([session, ...attempts.map(({ session_id }) => session_id)])) {
    const started = await store.events({ subject, kinds: ['task.started'] })
    const after = started.find(({ body }) => 'task_id' in body && body.task_id === task)?.id ?? 0
    for (const { kind, body } of await store.events({ subject, after, kinds: COUNTED })) {
      if (kind === 'permission.decided') tool_calls += 1
      if (kind === 'escalation.answered' && !isAutomatic(body.by)) corrections += 1
    }
  }
  return { tool_calls, corrections, cost_usd: spent?.cost_usd ?? 0 }
}

/** Every call is decided about, and the verdict is shorter than what a call puts out. */
const COUNTED: EventKind[] = ['permission.decided', 'escalation.answered']
