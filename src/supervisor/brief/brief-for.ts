import type { PastAttempt } from '../../domain/attempt.ts'
import type { Task } from '../../domain/task.ts'
import type { Worktree } from '../../domain/worktree.ts'
import { matchNotes, type NoteQuery } from '../../knowledge/match-notes.ts'
import type { BrokenNote } from '../../knowledge/note.ts'
import { readNotes } from '../../knowledge/read-notes.ts'
import type { Store, Tx } from '../../store/store.ts'
import { type JournalForTask, readJournalForTask } from '../../tasks/journal.ts'
import { retryPlan } from '../runs/next-step.ts'
import { type Brief, type BriefSection, buildBrief } from './build-brief.ts'
import { journalSection, notesSection, retrySection } from './history-sections.ts'
import { skillsSection, taskSections, worktreeSection } from './task-sections.ts'

/** Leaves most of the smallest window of today (200,000) to the work. */
const MOST_TOKENS = 60_000

export interface BriefOptions {
  store: Pick<Store, 'tasks' | 'journal' | 'worktrees' | 'evidence'>
  /** Attempts at this task, oldest first. */
  attempts: readonly PastAttempt[]
  /** The run that it is begun by. */
  run?: string | undefined
  /** The worktree in which it will be done. */
  place?: (Pick<Worktree, 'branch' | 'target'> & Partial<Pick<Worktree, 'directory'>>) | undefined
  /** What other parts have to tell: spec and plan, code, memory. */
  more?: readonly BriefSection[]
  tx?: Tx | undefined
}

/** A brief, and what lies among the project's notes that could not be read for it. */
export type TaskBrief = Brief & { skipped: BrokenNote[] }

/** Exactly what an agent would be sent for a task now. */
export async function briefFor(
  task: Task,
  { store, attempts, run, place, more = [], tx }: BriefOptions,
): Promise<TaskBrief> {
  const { tasks } = store
  const parent = task.parent_id === null ? undefined : await tasks.get(task.parent_id, tx)
  const edges = await tasks.blockersOf([task.id], tx)
  const blockers = (await Promise.all(edges.map(({ blocker_id }) => tasks.get(blocker_id, tx)))).filter(isThere)
  const plan = retryPlan(attempts, { maxRetries: Number.POSITIVE_INFINITY })
  const sections = taskSections({ task, parent, blockers: blockers.sort((a, b) => a.position - b.position) })
  const retry = retrySection(await withEvidence(attempts, task.id, { store, tx }), plan.again ? plan.note : undefined)
  const archives = place ? await archivesOf(task.id, { store, tx }) : []
  const journal = await readJournalForTask(task, { store, run, tx })
  const known = readNotes(task.project)
  const notes = notesSection(matchNotes(known.notes, aboutOf(task, journal)))
  const past = journalSection(
    journal,
    blockers.flatMap(({ result }) => result ?? []),
  )
  const skills = await skillsSection(place?.directory ?? task.project)
  const brief = buildBrief([...sections, worktreeSection(place, archives), retry, notes, past, ...more, skills], {
    tokens: MOST_TOKENS,
  })
  return { ...brief, skipped: known.broken }
}

/** Refs that hold what earlier attempts left, oldest first. */
async function archivesOf(task: string, { store, tx }: Pick<BriefOptions, 'store' | 'tx'>): Promise<string[]> {
  const rows = await store.worktrees.list({ task }, tx)
  return rows.toReversed().flatMap(({ archive }) => archive ?? [])
}

/** With what the gates saw of the last one, where it failed by them. */
async function withEvidence(
  attempts: readonly PastAttempt[],
  task: string,
  { store, tx }: Pick<BriefOptions, 'store' | 'tx'>,
): Promise<readonly PastAttempt[]> {
  const last = attempts.at(-1)
  if (last?.outcome !== 'failed') return attempts
  const seen = (await store.evidence.latest(task, tx)).filter(
    ({ status }) => status === 'failed' || status === 'broken',
  )
  const evidence = seen.map(({ gate, command, output, findings }) => ({
    what: command === null ? `the check ${gate}` : `the check ${gate} (${command})`,
    text: [output, ...findings.map(({ text }) => text)].filter(Boolean).join('\n'),
  }))
  return evidence.length === 0 ? attempts : [...attempts.slice(0, -1), { ...last, evidence }]
}

/** Files that others changed just now say where the work is. */
function aboutOf({ title, description, labels, feature }: Task, { recent }: JournalForTask): NoteQuery {
  const files = recent.slice(0, FILES_OF).flatMap(entry => entry.files)
  return { title, description, feature, labels: labels.split(' ').filter(label => label !== ''), files }
}

/** Entries of the run that count for that. */
const FILES_OF = 5

function isThere<T>(each: T | undefined): each is T {
  return each !== undefined
}
