import type { PastAttempt } from '../../domain/attempt.ts'
import { hasFailed, isBroken } from '../../domain/evidence.ts'
import type { Task } from '../../domain/task.ts'
import type { Worktree } from '../../domain/worktree.ts'
import { matchNotes, type NoteQuery } from '../../knowledge/match-notes.ts'
import type { BrokenNote } from '../../knowledge/note.ts'
import { readNotes } from '../../knowledge/read-notes.ts'
import type { Store, Tx } from '../../store/store.ts'
import { type JournalForTask, readJournalForTask } from '../../tasks/journal.ts'
import { labelsIn } from '../../tasks/view.ts'
import { codeSections, lookUpForTask, type TaskLookUp } from '../knowledge/found-code.ts'
import type { SupervisorMemory } from '../memory/supervisor-memory.ts'
import { retryPlan } from '../runs/next-step.ts'
import { type Brief, type BriefSection, buildBrief } from './build-brief.ts'
import { journalSection, notesSection, retrySection } from './history-sections.ts'
import { featureSections, skillsSection, taskSections, worktreeSection } from './task-sections.ts'

/** Leaves most of today's smallest context window (200,000) to the work. */
const MAX_TOKENS = 60_000

export interface BriefOptions {
  store: Pick<Store, 'tasks' | 'journal' | 'worktrees' | 'evidence'>
  /** Attempts at this task, oldest first. */
  attempts: readonly PastAttempt[]
  /** The run that begins the attempt. */
  run?: string | undefined
  /** The worktree of the attempt. */
  place?: (Pick<Worktree, 'branch' | 'target'> & Partial<Pick<Worktree, 'directory'>>) | undefined
  /** Sections of other parts: spec and plan, code, memory. */
  more?: readonly BriefSection[]
  tx?: Tx | undefined
}

/** A brief, and the files among the project's notes that could not be read for it. */
export type TaskBrief = Brief & { skipped: BrokenNote[] }

/** What a whole brief is collected from. */
export interface BriefSources extends TaskLookUp {
  store: BriefOptions['store']
  memory: Pick<SupervisorMemory, 'forTask'>
}

/**
 * Begins to collect all that an agent is told of a task, which takes a while, and returns what completes it. The prompt of a run's agent
 * and what a person is shown of it before (`pcc task brief`) come from here. With `isBegun`, memory records what it gave.
 */
export function beginBrief(
  task: Task,
  { store, memory, ...lookUp }: BriefSources,
  who: { agent?: string | null; isBegun?: boolean } = {},
): (about: Pick<BriefOptions, 'attempts' | 'run' | 'place'>) => Promise<TaskBrief> {
  const { caller, code } = lookUp
  const found = lookUpForTask(task, lookUp)
  return async about => {
    const learned = memory.forTask(task, { caller, ...who })
    const more = [...(await featureSections(task)), ...(await learned), ...(await codeSections(found, code))]
    return briefFor(task, { store, ...about, more })
  }
}

/** Builds a brief of what the store and the project say of a task, and of the sections of other parts that are given. */
export async function briefFor(
  task: Task,
  { store, attempts, run, place: worktree, more = [], tx }: BriefOptions,
): Promise<TaskBrief> {
  const { tasks } = store
  const parent = task.parent_id === null ? undefined : await tasks.get(task.parent_id, tx)
  const edges = await tasks.blockersOf([task.id], tx)
  const rows = await Promise.all(edges.map(({ blocker_id }) => tasks.get(blocker_id, tx)))
  const blockers = rows.filter(row => row !== undefined)
  const plan = retryPlan(attempts, { maxRetries: Number.POSITIVE_INFINITY })
  const sections = taskSections({ task, parent, blockers: blockers.sort((a, b) => a.position - b.position) })
  const retry = retrySection(await addEvidence(attempts, task.id, { store, tx }), plan.again ? plan.note : undefined)
  const archives = worktree ? await listArchives(task.id, { store, tx }) : []
  const journal = await readJournalForTask(task, { store, run, tx })
  const projectNotes = readNotes(task.project)
  const notes = notesSection(matchNotes(projectNotes.notes, noteQuery(task, journal)))
  const past = journalSection(
    journal,
    blockers.flatMap(({ result }) => result ?? []),
  )
  const skills = await skillsSection(worktree?.directory ?? task.project)
  const brief = buildBrief([...sections, worktreeSection(worktree, archives), retry, notes, past, ...more, skills], {
    tokens: MAX_TOKENS,
  })
  return { ...brief, skipped: projectNotes.broken }
}

/** Refs that hold the work of earlier attempts, oldest first. */
async function listArchives(task: string, { store, tx }: Pick<BriefOptions, 'store' | 'tx'>): Promise<string[]> {
  const rows = await store.worktrees.list({ task }, tx)
  return rows.toReversed().flatMap(({ archive }) => archive ?? [])
}

/** Adds the evidence of the failed gates to the last attempt, if that failed. */
async function addEvidence(
  attempts: readonly PastAttempt[],
  task: string,
  { store, tx }: Pick<BriefOptions, 'store' | 'tx'>,
): Promise<readonly PastAttempt[]> {
  const last = attempts.at(-1)
  if (last?.outcome !== 'failed') return attempts
  const failed = (await store.evidence.latest(task, tx)).filter(check => hasFailed(check) || isBroken(check))
  const evidence = failed.map(({ gate, command, output, findings }) => ({
    what: command === null ? `the check ${gate}` : `the check ${gate} (${command})`,
    text: [output, ...findings.map(({ text }) => text)].filter(Boolean).join('\n'),
  }))
  return evidence.length === 0 ? attempts : [...attempts.slice(0, -1), { ...last, evidence }]
}

/** Files that other tasks of the run changed just now show where the work is. */
function noteQuery({ title, description, labels, feature }: Task, { changed: files }: JournalForTask): NoteQuery {
  return { title, description, feature, labels: labelsIn(labels), files }
}
