import type { JournalEntry } from '../domain/attempt.ts'
import type { Evidence, NewEvidence } from '../domain/evidence.ts'
import type { Merge, MergeState } from '../domain/merge.ts'
import type { Task, TaskScope, TaskState } from '../domain/task.ts'
import type { WorktreeRow, WorktreeState } from '../domain/worktree.ts'
import type { Tx } from './database.ts'
import type {
  AttemptRow,
  EvidenceRound,
  FeatureRow,
  GateResult,
  JournalColumns,
  RunRow,
  ScheduleRow,
} from './tables.ts'

/** A task before it has a place in the order; one without an id is given one. */
export type NewTask = Omit<Task, 'id' | 'position'> & { id?: string }

/** Which tasks are meant; what is absent does not matter. */
export interface TaskFilter {
  session?: string | undefined
  states?: readonly TaskState[] | undefined
  project?: string | undefined
  feature?: string | undefined
  label?: string | undefined
  /** Somewhere in the title or the description, in letters of any size. */
  text?: string | undefined
  /** A task and everything that is a part of it. */
  under?: string | undefined
  limit?: number | undefined
}

/** One task comes after another. */
export interface TaskEdge {
  task_id: string
  blocker_id: string
}

/** The one table of tasks, and which of them come after which. */
export interface TaskStore {
  /** Throws `task_taken` where the id that was asked for is another one's. */
  insert(task: NewTask, tx: Tx): Promise<Task>
  get(id: string, tx?: Tx): Promise<Task | undefined>
  /** Those of these ids that there are, in no order. */
  of(ids: readonly string[], tx?: Tx): Promise<Task[]>
  /** Those whose id begins so, the first few. */
  beginning(prefix: string, tx?: Tx): Promise<Task[]>
  /** In the order of submission. */
  list(filter: TaskFilter, tx?: Tx): Promise<Task[]>
  /** The same, each as the JSON text that the API sends (`TaskView`). */
  listAsJson(filter: TaskFilter): Promise<string[]>
  /** The edges to what those tasks come after. */
  edges(filter: TaskFilter, tx?: Tx): Promise<TaskEdge[]>
  /** How many there are in each state. */
  counts(scope: TaskScope, tx?: Tx): Promise<Partial<Record<TaskState, number>>>
  /** The ready one that a session is to take: highest priority, then oldest. */
  next(session: string, tx: Tx): Promise<Task | undefined>
  /** The same of a scope, among those that are in no session's own queue. */
  nextFree(scope: TaskScope, tx: Tx): Promise<Task | undefined>
  /** The first so many of them, in that order. */
  free(scope: TaskScope, limit: number, tx: Tx): Promise<Task[]>
  /** Those that a run holds, or whoever answers to that name. */
  held(by: { run?: string | undefined; owner?: string | undefined }, tx?: Tx): Promise<Task[]>
  /** The one that a session works on, or will go on with. */
  atWork(session: string, tx?: Tx): Promise<Task | undefined>
  /** Compare and swap on state and attempt of the task as it was read: nothing where it has moved since. */
  swap(task: Task, patch: Partial<Task>, tx: Tx): Promise<Task | undefined>
  /** True where the edge is new. */
  link(edge: TaskEdge, tx: Tx): Promise<boolean>
  /** False where there was none. */
  unlink(edge: TaskEdge, tx: Tx): Promise<boolean>
  blockersOf(ids: readonly string[], tx?: Tx): Promise<TaskEdge[]>
  dependentsOf(id: string, tx?: Tx): Promise<Task[]>
  /** The direct parts of tasks. */
  childrenOf(ids: readonly string[], tx?: Tx): Promise<Task[]>
  /** Removes tasks and their edges. */
  remove(ids: readonly string[], tx: Tx): Promise<void>
}

/** Loops that drain a target, and the attempts they made. */
export interface RunStore {
  insert(row: RunRow, tx: Tx): Promise<void>
  update(id: string, patch: Partial<RunRow>, tx?: Tx): Promise<void>
  get(id: string, tx?: Tx): Promise<RunRow | undefined>
  /** Newest first. */
  list(filter?: { project?: string | undefined; open?: boolean }, tx?: Tx): Promise<RunRow[]>
  /** By id or the beginning of one that fits only one run. Throws `run_unknown`, `run_ambiguous`. */
  resolve(ref: string): Promise<RunRow>
  begin(attempt: AttemptRow, tx: Tx): Promise<void>
  /** Closes an attempt that is open; false where it is not. */
  end(
    attempt: Pick<AttemptRow, 'task_id' | 'number'>,
    patch: Partial<AttemptRow> & Partial<JournalColumns>,
    tx: Tx,
  ): Promise<boolean>
  /** Runs with attempts that have no outcome yet, whether they are open themselves or not. */
  withOpenAttempts(): Promise<string[]>
  /** Tasks of a scope that are done and that nobody has checked. */
  unverified(scope: TaskScope): Promise<number>
  /** In the order in which they were begun. */
  attempts(of: { run?: string; task?: string; session?: string }, tx?: Tx): Promise<AttemptRow[]>
}

/** Runs to come. */
export interface ScheduleStore {
  insert(row: ScheduleRow, tx: Tx): Promise<void>
  /**
   * Changes a row that still waits for the same time; false where somebody was quicker. Every ending and every firing goes
   * through here, so that one time never comes twice.
   */
  move(row: Pick<ScheduleRow, 'id' | 'due_at'>, patch: Partial<ScheduleRow>, tx: Tx): Promise<boolean>
  get(id: string, tx?: Tx): Promise<ScheduleRow | undefined>
  /** Soonest first; those that are over, newest first, behind them. */
  list(filter?: { project?: string | undefined; waiting?: boolean }, tx?: Tx): Promise<ScheduleRow[]>
}

export interface JournalQuery {
  project?: string | undefined
  run?: string | undefined
  /** Not of this run. */
  notRun?: string | undefined
  task?: string | undefined
  notTask?: string | undefined
  /** Ended at this time or later. */
  since?: number | undefined
  /** Only entries with these words (or beginnings of words): all of them, or at least one; the best match first. */
  words?: { list: readonly string[]; need: 'all' | 'any' } | undefined
  limit: number
}

/** Attempts that are over. */
export interface JournalStore {
  /** Newest first, or with words the best match first. */
  entries(query: JournalQuery, tx?: Tx): Promise<RankedJournalEntry[]>
  /** How many fit, without the limit. */
  count(query: Omit<JournalQuery, 'limit'>, tx?: Tx): Promise<number>
  /** What attempts at these tasks have changed. */
  filesOf(tasks: readonly string[], tx?: Tx): Promise<{ task_id: string; files: string[] }[]>
}

/** `rank`: how well the words fit, the lowest the best; 0 where nobody asked by words. */
export type RankedJournalEntry = JournalEntry & { rank: number }

/** Features and how far each is. */
export interface FeatureStore {
  insert(row: FeatureRow, tx: Tx): Promise<void>
  update(id: string, patch: Partial<FeatureRow>, tx?: Tx): Promise<void>
  get(id: string, tx?: Tx): Promise<FeatureRow | undefined>
  named(project: string, name: string, tx?: Tx): Promise<FeatureRow | undefined>
  /** Newest first. `open`: those that are not ready. */
  list(filter?: { project?: string | undefined; open?: boolean }): Promise<FeatureRow[]>
  /** Names that tasks of a project give as their feature. */
  inTasks(project: string): Promise<string[]>
  remove(id: string, tx: Tx): Promise<void>
}

export type WorktreeKey = Pick<WorktreeRow, 'task' | 'attempt'>

export interface WorktreeFilter {
  project?: string | undefined
  task?: string | undefined
  repository?: string | undefined
  states?: readonly WorktreeState[] | undefined
}

/** Worktrees: one row for each attempt that had one. */
export interface WorktreeStore {
  /** Takes the place of the same attempt's row. */
  put(row: WorktreeRow, tx?: Tx): Promise<void>
  update(key: WorktreeKey, patch: Partial<Omit<WorktreeRow, 'task' | 'attempt'>>, tx?: Tx): Promise<void>
  get(key: WorktreeKey, tx?: Tx): Promise<WorktreeRow | undefined>
  /** Newest first. */
  list(filter?: WorktreeFilter, tx?: Tx): Promise<WorktreeRow[]>
}

/** What gates saw, bound to trees. */
export interface EvidenceStore {
  /** All that one verification saw, in the place of what an interrupted one of the same round left. */
  put(round: EvidenceRound, rows: readonly NewEvidence[], tx: Tx): Promise<void>
  /** In the order in which it was seen. */
  list(of: { task: string; attempt?: number | undefined; round?: number | undefined }, tx?: Tx): Promise<Evidence[]>
  /** The newest verification of a task. */
  latest(task: string, tx?: Tx): Promise<Evidence[]>
}

/** Results of commands that need not be run again. What counts as the same is the key's business. */
export interface GateResultStore {
  get(key: string): Promise<GateResult | undefined>
  /** The newest result takes the place of an older one. */
  put(result: GateResult): Promise<void>
  /** Removes what is older. */
  prune(before: number): Promise<void>
}

export type NewMerge = Omit<Merge, 'id'>

/** What one queue serves: a repository, by the git directory that its worktrees share, and a branch of it. */
export interface MergeQueueKey {
  repository: string
  target: string
}

export interface MergeFilter {
  project?: string | undefined
  task?: string | undefined
  lane?: MergeQueueKey | undefined
  states?: readonly MergeState[] | undefined
  /** The newest so many, where there are more. */
  limit?: number | undefined
}

/** The ways of attempts' work into their targets. */
export interface MergeStore {
  insert(row: NewMerge, tx: Tx): Promise<Merge>
  /** Changes a row that is still in that state; false where somebody was quicker. */
  move(row: Pick<Merge, 'id' | 'state'>, patch: Partial<Omit<Merge, 'id'>>, tx: Tx): Promise<boolean>
  get(id: number, tx?: Tx): Promise<Merge | undefined>
  /** The row of a task that is not over. */
  open(task: string, tx?: Tx): Promise<Merge | undefined>
  /** In the order in which they came. */
  list(filter?: MergeFilter, tx?: Tx): Promise<Merge[]>
  /** Queues in which something is not over. */
  lanes(): Promise<MergeQueueKey[]>
  /** Those that landed and whose branch or worktree may still be there. */
  toClean(): Promise<Merge[]>
}
